import {
  Button,
  Group,
  NativeSelect,
  Stack,
  Text,
  Textarea,
  TextInput,
  type TextInputProps,
  type TextareaProps,
  type NativeSelectProps,
} from '@mantine/core';
import { createContext, use, useId, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { problemOf, type Answer, type Call } from '../api/call.ts';
import { useWrite } from '../api/query.ts';
import { CopyId } from './copy-id.tsx';
import { Problem } from './problem.tsx';

interface FormState {
  /** Of the field at fault. */
  readonly problem: string | undefined;
  readonly field: string | undefined;
  readonly names: Set<string>;
}

const Form = createContext<FormState>({ problem: undefined, field: undefined, names: new Set() });

export type Values = Readonly<Record<string, string>>;

interface Props<Data> {
  readonly requestOf: (values: Values) => Call | Promise<Call>;
  readonly onDone: (answer: Answer<Data>, form: HTMLFormElement) => void;
  /** @returns true if the refusal was handled, e.g. by one more field */
  readonly onRefused?: (error: unknown) => boolean;
  readonly submit: string;
  readonly touches?: readonly string[];
  readonly children?: ReactNode;
  /** Beside the button. */
  readonly more?: ReactNode;
  readonly color?: string;
}

/** Sends its fields. A refusal is shown at the field that the service names, else below, with the request's id. */
export const WriteForm = <Data,>(props: Props<Data>) => {
  const { requestOf, onDone, onRefused, submit, touches, children, more, color } = props;
  const form = useRef<HTMLFormElement>(null);
  const names = useRef(new Set<string>());
  const write = useWrite<Data, Call>((request) => request, touches);
  /** Of `requestOf`, or of the request. */
  const [error, setError] = useState<unknown>();
  const problem = error === undefined ? undefined : problemOf(error);
  const field = problem?.field;
  const isAtField = field !== undefined && names.current.has(field);
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const element = form.current;
    if (element === null || write.isPending) return;
    const values: Record<string, string> = {};
    for (const [name, value] of new FormData(element)) if (typeof value === 'string') values[name] = value;
    setError(undefined);
    try {
      onDone(await write.mutateAsync(await requestOf(values)), element);
    } catch (refusal) {
      if (onRefused?.(refusal) === true) return;
      setError(refusal);
      focusProblem(element, problemOf(refusal).field);
    }
  };
  return (
    <Form value={{ problem: isAtField ? problem?.message : undefined, field, names: names.current }}>
      <form ref={form} onSubmit={(event) => void send(event)} aria-busy={write.isPending}>
        <Stack gap="md">
          {children}
          {problem !== undefined && !isAtField && <Problem error={error} />}
          {problem !== undefined && isAtField && problem.requestId !== undefined && (
            <Text size="sm" component="div">
              Request <CopyId id={problem.requestId} what="request id" />
            </Text>
          )}
          <Group>
            <Button type="submit" loading={write.isPending} {...(color === undefined ? {} : { color })}>
              {submit}
            </Button>
            {more}
          </Group>
        </Stack>
      </form>
    </Form>
  );
};

/** After the refusal is shown, the keyboard is where it is mended. */
const focusProblem = (form: HTMLFormElement, field: string | undefined): void => {
  setTimeout(() => {
    const at = field === undefined ? null : form.querySelector(`[name="${CSS.escape(field)}"]`);
    if (at instanceof HTMLElement) at.focus();
  });
};

export const useField = (name: string): { readonly error: string | undefined } => {
  const { problem, field, names } = use(Form);
  names.add(name);
  return { error: field === name ? problem : undefined };
};

interface Named {
  /** As the API names it, so that its refusals find it. */
  readonly name: string;
  readonly label: ReactNode;
}

export const TextField = ({ name, ...rest }: Named & TextInputProps) => {
  const { error } = useField(name);
  return <TextInput name={name} id={useId()} error={error} {...rest} />;
};

export const AreaField = ({ name, ...rest }: Named & TextareaProps) => {
  const { error } = useField(name);
  return <Textarea name={name} id={useId()} error={error} autosize minRows={3} {...rest} />;
};

export const SelectField = ({ name, ...rest }: Named & NativeSelectProps) => {
  const { error } = useField(name);
  return <NativeSelect name={name} id={useId()} error={error} {...rest} />;
};
