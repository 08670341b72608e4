import { Alert } from '@mantine/core';
import type { ReactNode } from 'react';
import { useUser } from '../../shell/session.tsx';

interface Props {
  /** With its verb, e.g. `API keys are` */
  readonly what: string;
  readonly children: ReactNode;
}

/** What needs `exchange:admin`: other people read what they would be refused. */
export const AdminsOnly = ({ what, children }: Props) =>
  useUser().role === 'admin' ? children : <Alert>{what} for admins of the account.</Alert>;
