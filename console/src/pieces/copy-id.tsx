import { CopyButton, Tooltip, UnstyledButton } from '@mantine/core';
import classes from './pieces.module.css';

interface Props {
  readonly id: string | number;
  /** What a screen reader says that it is. */
  readonly what?: string;
  /** Shows the end only. */
  readonly short?: boolean;
}

/** Its beginning and its end. */
export const shortened = (text: string): string =>
  text.length <= 14 ? text : `${text.slice(0, 8)}…${text.slice(-4)}`;

/** An id that is copied by a click. */
export const CopyId = ({ id, what = 'id', short = false }: Props) => (
  <CopyButton value={String(id)} timeout={1_500}>
    {({ copied, copy }) => (
      <Tooltip label={copied ? 'Copied' : 'Copy'} withArrow>
        <UnstyledButton
          className={classes.id ?? ''}
          onClick={copy}
          aria-label={copied ? 'Copied' : `Copy ${what} ${id}`}
        >
          {short ? shortened(String(id)) : id}
        </UnstyledButton>
      </Tooltip>
    )}
  </CopyButton>
);
