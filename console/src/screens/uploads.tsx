import { Button, FileButton, Group, Progress, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, type DragEvent } from 'react';
import { problemOf } from '../api/call.ts';
import { BUYER } from '../api/query.ts';
import { findSame, sendFile, type SendProgress } from './send-file.ts';
import classes from './campaign.module.css';

interface Item {
  readonly id: number;
  readonly file: File;
  readonly state: 'waiting' | 'sending' | 'done' | 'failed' | 'same';
  readonly progress: number;
  readonly note?: string;
}

/** Files are sent one after the other: a broken one can be tried again without the others. */
export const Uploads = ({ advertiserId }: { readonly advertiserId: number }) => {
  const client = useQueryClient();
  const [items, setItems] = useState<readonly Item[]>([]);
  const [isOver, setOver] = useState(false);
  const queue = useRef<Promise<void>>(Promise.resolve());
  const next = useRef(0);
  const change = (id: number, changes: Partial<Item>): void =>
    setItems((before) => before.map((item) => (item.id === id ? { ...item, ...changes } : item)));
  const send = async (id: number, file: File, isKept: boolean): Promise<void> => {
    const onProgress: SendProgress = (progress) => change(id, { progress });
    change(id, { state: 'sending', progress: 0 });
    try {
      const same = isKept ? undefined : await findSame(advertiserId, file);
      if (same !== undefined) {
        return change(id, { state: 'same', note: `The library has this file: ${same.name}` });
      }
      await sendFile(advertiserId, file, onProgress);
      change(id, { state: 'done', progress: 100 });
      await client.invalidateQueries({
        predicate: ({ queryKey: [path] }) => path === `${BUYER}/advertisers/${advertiserId}/assets`,
      });
    } catch (error) {
      change(id, { state: 'failed', note: problemOf(error).message });
    }
  };
  const enqueue = (id: number, file: File, isKept = false): void => {
    queue.current = queue.current.then(() => send(id, file, isKept));
  };
  const add = (files: readonly File[]): void => {
    for (const file of files) {
      const id = (next.current += 1);
      setItems((before) => [...before, { id, file, state: 'waiting', progress: 0 }]);
      enqueue(id, file);
    }
  };
  useEffect(ignoreDropsBeside, []);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    add([...event.dataTransfer.files]);
  };
  return (
    <Stack gap="xs">
      <div
        className={`${classes.drop ?? ''} ${isOver ? (classes.over ?? '') : ''}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
        role="group"
        aria-label="Upload"
      >
        <Group justify="center">
          <Text>Drop files here, or</Text>
          <FileButton onChange={add} multiple inputProps={{ 'aria-label': 'Files' }}>
            {(props) => <Button {...props}>Choose files</Button>}
          </FileButton>
        </Group>
      </div>
      {items.map((item) => (
        <ItemRow key={item.id} item={item} again={(isKept) => enqueue(item.id, item.file, isKept)} />
      ))}
    </Stack>
  );
};

/** A file that misses the field would replace the page. @returns a function that ends it */
const ignoreDropsBeside = (): (() => void) => {
  const ignore = (event: Event): void => event.preventDefault();
  addEventListener('dragover', ignore);
  addEventListener('drop', ignore);
  return () => {
    removeEventListener('dragover', ignore);
    removeEventListener('drop', ignore);
  };
};

interface RowProps {
  readonly item: Item;
  readonly again: (isKept: boolean) => void;
}

const said = {
  waiting: 'waits',
  sending: 'is being sent',
  done: 'is in the library',
  failed: 'failed',
  same: 'was not sent',
};

const ItemRow = ({ item: { file, state, progress, note }, again }: RowProps) => (
  <Stack gap={4} role="group" aria-label={file.name}>
    <Group justify="space-between">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {file.name} {said[state]}
        {note === undefined ? '' : `. ${note}`}
      </Text>
      {state === 'failed' && (
        <Button size="compact-xs" variant="default" onClick={() => again(false)}>
          Try again
        </Button>
      )}
      {state === 'same' && (
        <Button size="compact-xs" variant="default" onClick={() => again(true)}>
          Add it anyway
        </Button>
      )}
    </Group>
    {state === 'sending' && <Progress value={progress} aria-label={`Progress of ${file.name}`} />}
  </Stack>
);
