import { Anchor, Text } from '@mantine/core';
import { TextField } from '../pieces/form.tsx';
import { enter, EntryForm, filled, PasswordField } from './entry-form.tsx';
import { EntryPage } from './entry-page.tsx';
import { keepingNext } from './next-page.ts';

const SENT = 'Look into your mailbox: a mail says how to go on. If it does not arrive, look among the spam.';

const SignUp = () => (
  <EntryPage title="Create an account">
    <EntryForm
      submit="Create the account"
      requestOf={(values) => ({ method: 'POST', path: '/auth/signup', body: filled(values) })}
      onDone={({ status }) => (status === 202 ? SENT : enter())}
    >
      <TextField name="company" label="Company" autoComplete="organization" required autoFocus />
      <TextField name="email" label="E-mail address" type="email" autoComplete="username" required />
      <PasswordField isNew />
    </EntryForm>
    <Text size="sm">
      Already have an account? <Anchor href={keepingNext('/console/sign-in')}>Sign in</Anchor>
    </Text>
  </EntryPage>
);

export default SignUp;
