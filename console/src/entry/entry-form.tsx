import { Text } from '@mantine/core';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { problemOf, type Answer, type Call } from '../api/call.ts';
import { TextField, WriteForm, type Values } from '../pieces/form.tsx';
import { nextPage } from './next-page.ts';

/** After a sign-in: a new load, so that nothing of another person's session stays. */
export const enter = (): undefined => {
  location.assign(nextPage() ?? '/console');
};

interface Props {
  readonly submit: string;
  readonly requestOf: (values: Values) => Call | Promise<Call>;
  /** @returns a text that is shown in place of the form; undefined if the page ends */
  readonly onDone: (answer: Answer<unknown>) => string | undefined;
  readonly children: ReactNode;
}

/** A form of a person without a session. A code of the authenticator app is asked for only when one is needed. */
export const EntryForm = ({ submit, requestOf, onDone, children }: Props) => {
  const [needsCode, setNeedsCode] = useState(false);
  const [done, setDone] = useState<string>();
  const end = useRef<HTMLParagraphElement>(null);
  useEffect(() => end.current?.focus(), [done]);
  if (done !== undefined) {
    return (
      <Text ref={end} tabIndex={-1}>
        {done}
      </Text>
    );
  }
  return (
    <WriteForm<unknown>
      submit={submit}
      touches={[]}
      requestOf={requestOf}
      onDone={(answer) => setDone(onDone(answer))}
      onRefused={(error) => {
        const details = problemOf(error).details as { readonly reason?: unknown } | null | undefined;
        if (details?.reason !== 'code-required' || needsCode) return false;
        setNeedsCode(true);
        return true;
      }}
    >
      {children}
      {needsCode && (
        <TextField
          name="code"
          label="Code of your authenticator app, or a lookup code"
          required
          autoFocus
          autoComplete="one-time-code"
          autoCapitalize="none"
          spellCheck={false}
        />
      )}
    </WriteForm>
  );
};

/** Without what is empty. */
export const filled = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));

export const EmailField = () => (
  <TextField name="email" label="E-mail address" type="email" autoComplete="username" required autoFocus />
);

interface PasswordProps {
  readonly label?: string;
  readonly isNew?: boolean;
  readonly autoFocus?: boolean;
}

export const PasswordField = ({ label = 'Password', isNew = false, autoFocus = false }: PasswordProps) => (
  <TextField
    name="password"
    label={label}
    type="password"
    required
    autoFocus={autoFocus}
    autoComplete={isNew ? 'new-password' : 'current-password'}
    {...(isNew ? { minLength: 12, description: 'At least 12 characters.' } : {})}
  />
);
