import { Anchor, type AnchorProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, Ref } from 'react';

type Props = AnchorProps &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof AnchorProps> & {
    readonly ref?: Ref<HTMLAnchorElement>;
  };

const PlainAnchor = ({ ref, ...rest }: Props) => <Anchor inherit {...rest} ref={ref ?? null} />;

/** A link to a page of the console: `to` begins below `/console`. */
export const Go = createLink(PlainAnchor);
