import { Alert, Button, CopyButton, Group, Modal, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './pieces.module.css';

interface Props {
  readonly title: string;
  /** Undefined: closed. */
  readonly secret: string | undefined;
  readonly about: ReactNode;
  readonly close: () => void;
}

/** A secret that the service never shows again. It is only in the memory of this page. */
export const ShownOnce = ({ title, secret, about, close }: Props) => (
  <Modal
    opened={secret !== undefined}
    onClose={close}
    title={title}
    closeOnClickOutside={false}
    closeOnEscape={false}
    withCloseButton={false}
  >
    <Stack>
      <Alert color="yellow" variant="light" title="It is shown only now">
        Keep it where only your program reads it. The service cannot show it again.
      </Alert>
      <pre className={classes.json ?? ''} tabIndex={0} aria-label={title}>
        {secret}
      </pre>
      <Text size="sm" component="div">
        {about}
      </Text>
      <Group>
        <CopyButton value={secret ?? ''}>
          {({ copied, copy }) => (
            <Button onClick={copy} data-autofocus>
              {copied ? 'Copied' : 'Copy it'}
            </Button>
          )}
        </CopyButton>
        <Button variant="default" onClick={close}>
          I have kept it
        </Button>
      </Group>
    </Stack>
  </Modal>
);
