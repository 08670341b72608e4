import { Text } from '@mantine/core';
import { enter, EntryForm, filled, PasswordField } from './entry-form.tsx';
import { EntryPage, WithoutToken } from './entry-page.tsx';
import { linkToken } from './link-token.ts';

const VerifyEmail = () => (
  <EntryPage title="Confirm your e-mail address">
    {linkToken === '' ? (
      <WithoutToken from="of the mail" />
    ) : (
      <EntryForm
        submit="Confirm"
        requestOf={(values) => ({
          method: 'POST',
          path: '/auth/verify-email',
          body: { ...filled(values), token: linkToken },
        })}
        onDone={enter}
      >
        <Text size="sm">Enter the password that you chose when you signed up.</Text>
        <PasswordField autoFocus />
      </EntryForm>
    )}
  </EntryPage>
);

export default VerifyEmail;
