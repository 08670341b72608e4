import { EmailField, enter, EntryForm, filled, PasswordField } from './entry-form.tsx';
import { EntryPage, WithoutToken } from './entry-page.tsx';
import { linkToken } from './link-token.ts';

const SetUp = () => (
  <EntryPage title="Set up your sign-in">
    {linkToken === '' ? (
      <WithoutToken from="that the operator gave you" />
    ) : (
      <EntryForm
        submit="Set up and sign in"
        requestOf={(values) => ({
          method: 'POST',
          path: '/auth/set-up',
          body: { ...filled(values), token: linkToken },
        })}
        onDone={enter}
      >
        <EmailField />
        <PasswordField isNew />
      </EntryForm>
    )}
  </EntryPage>
);

export default SetUp;
