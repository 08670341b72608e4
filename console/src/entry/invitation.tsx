import { TextField } from '../pieces/form.tsx';
import { enter, EntryForm, filled, PasswordField } from './entry-form.tsx';
import { EntryPage, WithoutToken } from './entry-page.tsx';
import { linkToken } from './link-token.ts';

const Invitation = () => (
  <EntryPage title="Accept the invitation">
    {linkToken === '' ? (
      <WithoutToken from="of the mail" />
    ) : (
      <EntryForm
        submit="Join the account"
        requestOf={(values) => ({
          method: 'POST',
          path: '/auth/invitations/accept',
          body: { ...filled(values), token: linkToken },
        })}
        onDone={enter}
      >
        <TextField name="name" label="Your name" autoComplete="name" required autoFocus />
        <PasswordField isNew />
      </EntryForm>
    )}
  </EntryPage>
);

export default Invitation;
