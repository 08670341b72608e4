import { Text } from '@mantine/core';
import classes from './pieces.module.css';

/** Any JSON value, as text. */
export const Value = ({ of: value }: { readonly of: unknown }) => {
  if (value === undefined)
    return (
      <Text span c="dimmed">
        none
      </Text>
    );
  return (
    <span className={classes.value ?? ''}>
      {typeof value === 'string' ? value : JSON.stringify(value, undefined, 1)}
    </span>
  );
};
