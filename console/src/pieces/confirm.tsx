import { Button, Group, Modal, Stack, Text, type ButtonProps } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import type { Call } from '../api/call.ts';
import { useWrite } from '../api/query.ts';
import { Problem } from './problem.tsx';

interface Props extends Pick<ButtonProps, 'size' | 'variant' | 'disabled'> {
  readonly label: string;
  /** For screen readers, if there are several such buttons on the page. */
  readonly of?: string;
  readonly title: string;
  /** What follows from it, above all what stops working. */
  readonly children: ReactNode;
  readonly call: Call;
  readonly onDone?: () => void;
}

/** A write that cannot be undone: it says before what will break. */
export const ConfirmedWrite = ({ label, of, title, children, call, onDone, ...rest }: Props) => {
  const [isOpen, { open, close }] = useDisclosure();
  const write = useWrite<unknown, Call>((request) => request);
  const send = (): void =>
    write.mutate(call, {
      onSuccess: () => {
        close();
        onDone?.();
      },
    });
  return (
    <>
      <Button
        variant="default"
        onClick={open}
        {...rest}
        {...(of === undefined ? {} : { 'aria-label': `${label} ${of}` })}
      >
        {label}
      </Button>
      <Modal opened={isOpen} onClose={close} title={title}>
        <Stack>
          <Text component="div">{children}</Text>
          <Problem error={write.error} />
          <Group>
            <Button color="red" loading={write.isPending} onClick={send}>
              {label}
            </Button>
            <Button variant="default" onClick={close} data-autofocus>
              Cancel
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
};
