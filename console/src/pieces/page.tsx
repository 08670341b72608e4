import { Group, Stack, Text, Title } from '@mantine/core';
import { useEffect, useRef, type ReactNode } from 'react';

interface Props {
  readonly title: string;
  /** Below the title. */
  readonly about?: ReactNode;
  /** Beside the title. */
  readonly mark?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

let isFirst = true;

/** Every screen is one: it names the tab, and a new page begins at its heading for keyboard and screen reader. */
export const Page = ({ title, about, mark, actions, children }: Props) => {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Buyer Exchange`;
  }, [title]);
  useEffect(() => {
    if (!isFirst) heading.current?.focus({ preventScroll: true });
    isFirst = false;
  }, []);
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start">
        <div>
          <Group gap="sm">
            <Title
              order={1}
              size="h2"
              ref={heading}
              tabIndex={-1}
              style={{ outline: 'none', overflowWrap: 'anywhere' }}
            >
              {title}
            </Title>
            {mark}
          </Group>
          {about !== undefined && (
            <Text c="dimmed" component="div">
              {about}
            </Text>
          )}
        </div>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
};
