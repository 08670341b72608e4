import { Anchor, Text } from '@mantine/core';
import { EmailField, enter, EntryForm, filled, PasswordField } from './entry-form.tsx';
import { EntryPage } from './entry-page.tsx';
import { keepingNext } from './next-page.ts';

const SignIn = () => (
  <EntryPage title="Sign in">
    <EntryForm
      submit="Sign in"
      requestOf={(values) => ({ method: 'POST', path: '/auth/sign-in', body: filled(values) })}
      onDone={enter}
    >
      <EmailField />
      <PasswordField />
    </EntryForm>
    <Text size="sm">
      <Anchor href="/console/password-reset">Forgot your password?</Anchor> · New here?{' '}
      <Anchor href={keepingNext('/console/sign-up')}>Create an account</Anchor>
    </Text>
  </EntryPage>
);

export default SignIn;
