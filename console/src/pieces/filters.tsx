import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useUrlState } from './url-state.ts';

type Choices = readonly (readonly [value: string, label: string])[];

export interface Filter {
  /** As the API and the address have it. */
  readonly name: string;
  readonly label: string;
  /** With choices it is a list, without it is a text. */
  readonly choices?: Choices;
  readonly type?: 'text' | 'date';
  /** What a text looks like. */
  readonly example?: string;
}

/** Texts are applied by Enter or when the field is left. */
export const Filters = ({ filters }: { readonly filters: readonly Filter[] }) => {
  const [url, change] = useUrlState();
  const apply = (name: string, value: string): void => {
    if ((url[name] ?? '') !== value) change({ [name]: value, page: undefined, cursor: undefined });
  };
  const isSet = filters.some(({ name }) => url[name] !== undefined);
  return (
    <Group gap="sm" align="flex-end" role={filters.length > 0 ? 'search' : 'group'} aria-label="Filters">
      {filters.map((filter) =>
        filter.choices === undefined ? (
          <TextFilter
            key={`${filter.name} ${url[filter.name] ?? ''}`}
            filter={filter}
            value={url[filter.name] ?? ''}
            apply={apply}
          />
        ) : (
          <NativeSelect
            key={filter.name}
            size="xs"
            label={filter.label}
            value={url[filter.name] ?? ''}
            data={choicesWith(filter.choices, url[filter.name])}
            onChange={({ currentTarget }) => apply(filter.name, currentTarget.value)}
          />
        ),
      )}
      {isSet && (
        <Button
          size="xs"
          variant="subtle"
          onClick={() =>
            change({
              ...Object.fromEntries(filters.map(({ name }) => [name, undefined])),
              page: undefined,
              cursor: undefined,
            })
          }
        >
          Clear
        </Button>
      )}
    </Group>
  );
};

/** A link may name what the choices lack, e.g. an archived advertiser: the list must not show another choice then. */
const choicesWith = (choices: Choices, chosen = '') => {
  const isThere = chosen === '' || choices.some(([value]) => value === chosen);
  const all = isThere ? choices : [...choices, [chosen, chosen] as const];
  return all.map(([value, label]) => ({ value, label }));
};

interface TextProps {
  readonly filter: Filter;
  readonly value: string;
  readonly apply: (name: string, value: string) => void;
}

const TextFilter = ({ filter: { name, label, type = 'text', example }, value, apply }: TextProps) => {
  const [text, setText] = useState(value);
  return (
    <TextInput
      size="xs"
      label={label}
      type={type}
      {...(example === undefined ? {} : { placeholder: example })}
      value={text}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onBlur={() => apply(name, text)}
      onKeyDown={({ key }) => {
        if (key === 'Enter') apply(name, text);
      }}
    />
  );
};
