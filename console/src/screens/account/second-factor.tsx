import { Alert, Anchor, List, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { ACCOUNT } from '../../api/query.ts';
import type { Schema } from '../../api/schema.ts';
import type { User } from '../../api/types.ts';
import { TextField, WriteForm } from '../../pieces/form.tsx';
import { Code } from '../../pieces/json.tsx';

const TOTP = `${ACCOUNT}/user/totp`;

/** An authenticator app: set up, confirmed, its lookup codes shown once, and turned off. */
export const SecondFactor = ({ user }: { readonly user: User }) => {
  const [codes, setCodes] = useState<readonly string[]>();
  return (
    <Stack>
      <Title order={2} size="h4">
        Authenticator app
      </Title>
      {codes !== undefined && <LookupCodes codes={codes} />}
      {user.totp.enabled ? <TurnOff user={user} /> : <SetUp onDone={setCodes} />}
    </Stack>
  );
};

const LookupCodes = ({ codes }: { readonly codes: readonly string[] }) => (
  <Alert color="yellow" variant="light" title="Keep these lookup codes: they are shown only now">
    <Stack gap="xs">
      <Text size="sm">Each signs you in once if you lose the app.</Text>
      <List listStyleType="none" aria-label="Lookup codes">
        {codes.map((code) => (
          <List.Item key={code}>
            <code>{code}</code>
          </List.Item>
        ))}
      </List>
    </Stack>
  </Alert>
);

const password = (
  <TextField name="password" label="Password" type="password" required autoComplete="current-password" />
);

const SetUp = ({ onDone }: { readonly onDone: (codes: readonly string[]) => void }) => {
  const [seed, setSeed] = useState<Schema<'TotpSeed'>>();
  if (seed === undefined) {
    return (
      <WriteForm<Schema<'TotpSeed'>>
        submit="Set up"
        touches={[]}
        requestOf={(values) => ({ method: 'POST', path: TOTP, body: { password: values['password'] } })}
        onDone={({ data }) => setSeed(data)}
      >
        <Text size="sm">
          With it, a sign-in needs a code of the app in addition to the password. Your password is asked for
          once more:
        </Text>
        {password}
      </WriteForm>
    );
  }
  return (
    <>
      <Code label="The key, for the app" text={(seed.secret.match(/.{1,4}/g) ?? []).join(' ')} />
      {seed.otpauthUri.startsWith('otpauth:') && (
        <Text size="sm">
          On this device, you can <Anchor href={seed.otpauthUri}>open it in the app</Anchor>.
        </Text>
      )}
      <WriteForm<Schema<'LookupCodes'>>
        submit="Confirm"
        requestOf={({ code }) => ({ method: 'POST', path: `${TOTP}/confirm`, body: { code } })}
        onDone={({ data }) => onDone(data.lookupCodes)}
      >
        <TextField
          name="code"
          label="Code that the app shows"
          required
          inputMode="numeric"
          autoComplete="one-time-code"
          pattern="[0-9]{6}"
        />
      </WriteForm>
    </>
  );
};

const TurnOff = ({ user }: { readonly user: User }) => (
  <>
    <Text>A sign-in needs a code of your app. Lookup codes left: {user.totp.lookupCodesLeft}.</Text>
    <WriteForm
      submit="Turn it off"
      color="red"
      requestOf={({ password: given, code }) => ({
        method: 'POST',
        path: `${TOTP}/disable`,
        body: { password: given, code },
      })}
      onDone={() => undefined}
    >
      {password}
      <TextField
        name="code"
        label="Code of your authenticator app, or a lookup code"
        required
        autoComplete="one-time-code"
        autoCapitalize="none"
        spellCheck={false}
      />
    </WriteForm>
  </>
);
