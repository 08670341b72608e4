import { Badge } from '@mantine/core';

const colours: Readonly<Record<string, string>> = {
  ACTIVE: 'green',
  active: 'green',
  COMPLETED: 'green',
  completed: 'blue',
  approved: 'green',
  success: 'green',
  SYNCED: 'green',
  READY: 'green',
  healthy: 'green',
  delivered: 'green',
  due: 'blue',
  canceled: 'yellow',
  OPEN: 'blue',
  EXPIRED: 'yellow',
  REVOKED: 'red',
  FAILED: 'red',
  failed: 'red',
  rejected: 'red',
  denied: 'red',
  RUNNING: 'blue',
  WAITING: 'yellow',
  PROCESSING: 'blue',
  receiving: 'green',
  needs_attention: 'red',
  SYNCING: 'blue',
  PENDING: 'yellow',
  UNREACHABLE: 'red',
  pending: 'yellow',
  running: 'blue',
  complete: 'green',
  partial: 'yellow',
  quoted: 'green',
  products: 'blue',
  late: 'yellow',
  ready: 'green',
  ok: 'green',
  not_ready: 'red',
  unavailable: 'red',
  paused: 'yellow',
};

/** A state, in the word that the API has for it. */
export const State = ({ of: state }: { readonly of: string | undefined }) =>
  state === undefined ? null : (
    <Badge
      color={colours[state] ?? 'gray'}
      variant="light"
      tt="none"

      style={{ flexShrink: 0, minWidth: 'max-content', color: 'var(--mantine-color-text)' }}
    >
      {state}
    </Badge>
  );
