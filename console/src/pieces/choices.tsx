import { Checkbox, Stack } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { useField } from './form.tsx';

export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly description?: string | undefined;
}

interface Props {
  readonly name: string;
  readonly label: string;
  readonly description?: ReactNode;
  readonly choices: readonly Choice[];
  readonly defaultValue?: readonly string[];
}

/** Any number of choices. The form has the values, separated by commas. */
export const ChoicesField = ({ name, label, description, choices, defaultValue = [] }: Props) => {
  const { error } = useField(name);
  const [chosen, setChosen] = useState<readonly string[]>(defaultValue);
  return (
    <>
      <input type="hidden" name={name} value={chosen.join(',')} />
      <Checkbox.Group
        label={label}
        description={description}
        error={error}
        value={[...chosen]}
        onChange={setChosen}
      >
        <Stack gap="xs" mt="xs">
          {choices.map((choice) => (
            <Checkbox
              key={choice.value}
              value={choice.value}
              label={choice.label}
              description={choice.description}
            />
          ))}
        </Stack>
      </Checkbox.Group>
    </>
  );
};

/** The values that `ChoicesField` has put into the form. */
export const chosenIn = (text: string | undefined): readonly string[] =>
  text === undefined || text === '' ? [] : text.split(',');
