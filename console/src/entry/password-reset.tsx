import { Anchor, Text } from '@mantine/core';
import { useRef } from 'react';
import { call } from '../api/call.ts';
import type { Schema } from '../api/schema.ts';
import { EmailField, EntryForm, filled, PasswordField } from './entry-form.tsx';
import { EntryPage } from './entry-page.tsx';
import { linkToken } from './link-token.ts';

const SENT = 'If a user has this address, a mail with a link is on its way. The link works for 10 minutes.';
const CHANGED = 'Your password is changed, and all sessions have ended. Sign in with the new password.';

const PasswordReset = () => (
  <EntryPage title="Reset your password">
    {linkToken === '' ? (
      <EntryForm
        submit="Send a link"
        requestOf={(values) => ({
          method: 'POST',
          path: '/auth/password-reset/request',
          body: filled(values),
        })}
        onDone={() => SENT}
      >
        <EmailField />
      </EntryForm>
    ) : (
      <NewPassword />
    )}
    <Text size="sm">
      <Anchor href="/console/sign-in">Sign in</Anchor>
    </Text>
  </EntryPage>
);

const NewPassword = () => {
  const ticket = useRef<string>(undefined);
  /** Only when the form is sent, so that a program that opens the links of a mail does not use up the link. */
  const ticketOf = async (): Promise<string> => {
    if (ticket.current === undefined) {
      const { data } = await call<Schema<'ResetTicket'>>({
        method: 'POST',
        path: '/auth/password-reset/verify',
        body: { token: linkToken },
      });
      ticket.current = data.ticket;
    }
    return ticket.current;
  };
  return (
    <EntryForm
      submit="Change the password"
      requestOf={async (values) => ({
        method: 'POST',
        path: '/auth/password-reset/reset',
        body: { ...filled(values), ticket: await ticketOf() },
      })}
      onDone={() => CHANGED}
    >
      <PasswordField label="New password" isNew autoFocus />
    </EntryForm>
  );
};

export default PasswordReset;
