import { Badge, Button, Group, Skeleton, Text } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { problemOf, type Call } from '../api/call.ts';
import { useRead, useWrite } from '../api/query.ts';
import type { Schema } from '../api/schema.ts';
import { ChoicesField, chosenIn } from '../pieces/choices.tsx';
import { WriteForm } from '../pieces/form.tsx';
import { Facts } from '../pieces/object-page.tsx';
import { Problem } from '../pieces/problem.tsx';
import { signInAddress } from '../shell/sign-in-address.ts';
import { EntryPage } from './entry-page.tsx';

type ConsentRequest = Schema<'ConsentRequest'>;
interface Decided {
  readonly redirectTo: string;
}

/** The decision is a request, not a form that is sent: the policy would stop the redirect to the app. */
const follow = ({ data }: { readonly data: Decided }): void => location.assign(data.redirectTo);

/** A person decides what an app may do for them. */
const Consent = () => {
  const { uid = '' } = useParams({ strict: false });
  const path = `/api/console/oauth/${encodeURIComponent(uid)}`;
  const { data, error } = useRead<ConsentRequest>(path);
  const isSignedOut = error !== null && problemOf(error).status === 401;
  useEffect(() => {
    if (isSignedOut) location.replace(signInAddress());
  }, [isSignedOut]);
  return (
    <EntryPage title="Allow access?">
      {!isSignedOut && <Problem error={error} />}
      {data === undefined && error === null && <Skeleton height={200} />}
      {data !== undefined && <Decision asked={data} path={path} />}
    </EntryPage>
  );
};

const registrations: Readonly<Record<ConsentRequest['client']['registration'], string | undefined>> = {
  self: 'registered itself just now',
  operator: 'registered by the operator of this service',
  'metadata-document': undefined,
};

interface DecisionProps {
  readonly asked: ConsentRequest;
  readonly path: string;
}

/** Texts of the client are only text. */
const Decision = ({ asked, path }: DecisionProps) => {
  const { client, redirectHost, scopes, lifetimeDays, account } = asked;
  const deny = useWrite<Decided, Call>((request) => request, []);
  const send = (decision: 'allow' | 'deny', chosen?: readonly string[]): Call => ({
    method: 'POST',
    path,
    body: { decision, ...(chosen === undefined ? {} : { scopes: chosen }) },
  });
  return (
    <>
      <Text style={{ overflowWrap: 'anywhere' }} component="div">
        <strong>{client.name}</strong>{' '}
        {!client.isVerified && (
          <Badge
            color="yellow"
            variant="light"
            tt="none"
            c="inherit"
            h="auto"
            styles={{ label: { whiteSpace: 'normal' } }}
          >
            unverified: the app chose this name itself
          </Badge>
        )}{' '}
        asks for access to the account <strong>{account?.company}</strong>.
      </Text>
      <Facts
        facts={[
          ['App', client.host ?? registrations[client.registration]],
          client.host !== undefined &&
            registrations[client.registration] !== undefined && [
              'Registration',
              registrations[client.registration],
            ],
          ['You return to', redirectHost],
          ['You are', account?.userName],
          ['Ends', `after ${lifetimeDays} days, or when you revoke it among the connected apps`],
        ]}
      />
      <WriteForm<Decided>
        submit="Allow"
        touches={[]}
        requestOf={(values) => send('allow', chosenIn(values['scopes']))}
        onDone={follow}
        more={
          <Button
            variant="default"
            loading={deny.isPending}
            onClick={() => deny.mutate(send('deny'), { onSuccess: follow })}
          >
            Deny
          </Button>
        }
      >
        <ChoicesField
          name="scopes"
          label="The app may"
          choices={scopes.map(({ scope, description }) => ({
            value: scope,
            label: description,
            description: scope,
          }))}
          defaultValue={scopes.map(({ scope }) => scope)}
        />
        <Problem error={deny.error} />
      </WriteForm>
      <AnotherUser />
    </>
  );
};

const AnotherUser = () => {
  const signOut = useWrite<unknown>(() => ({ method: 'POST', path: '/auth/sign-out', body: {} }), []);
  return (
    <Group gap="xs">
      <Text size="sm">Not you?</Text>
      <Button
        variant="subtle"
        size="compact-sm"
        loading={signOut.isPending}
        onClick={() => signOut.mutate(undefined, { onSuccess: () => location.assign(signInAddress()) })}
      >
        Sign in as another user
      </Button>
      <Problem error={signOut.error} />
    </Group>
  );
};

export default Consent;
