import {
  Anchor,
  AppShell,
  Burger,
  Group,
  Loader,
  Center,
  Stack,
  Text,
  UnstyledButton,
  Kbd,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { spotlight } from '@mantine/spotlight';
import { useQueryClient } from '@tanstack/react-query';
import { Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect } from 'react';
import { invalidateByEvents, startLive } from '../api/live.ts';
import { ACCOUNT, useRead } from '../api/query.ts';
import { problemOf } from '../api/call.ts';
import type { User } from '../api/types.ts';
import { Problem } from '../pieces/problem.tsx';
import { Go } from '../pieces/go.tsx';
import { Navigation } from './navigation.tsx';
import { Notices } from './notices.tsx';
import { PersonMenu } from './person-menu.tsx';
import { SearchBox } from './search-box.tsx';
import { SessionOf } from './session.tsx';
import { signInAddress } from './sign-in-address.ts';
import classes from './shell.module.css';

/** Every page of a signed-in person. */
export const Shell = () => {
  const { data: user, error } = useRead<User>(`${ACCOUNT}/user`);
  const isSignedOut = error !== null && problemOf(error).status === 401;
  useEffect(() => {
    if (isSignedOut) location.replace(signInAddress());
  }, [isSignedOut]);
  if (error !== null && !isSignedOut) return <Problem error={error} />;
  if (user === undefined || isSignedOut) {
    return (
      <Center mih="100vh" p="md">
        <Stack align="center">
          <Notices />
          <Loader aria-label="Loading" />
        </Stack>
      </Center>
    );
  }
  return (
    <SessionOf user={user}>
      <Frame user={user} />
    </SessionOf>
  );
};

const useLive = (userId: string): void => {
  const client = useQueryClient();
  useEffect(() => {
    const ends = [startLive(userId), invalidateByEvents(client)];
    return () => ends.forEach((end) => end());
  }, [client, userId]);
};

const Frame = ({ user }: { readonly user: User }) => {
  const [isOpen, { toggle, close }] = useDisclosure();
  const path = useRouterState({ select: ({ location: at }) => at.pathname });
  useLive(user.id);
  useEffect(close, [close, path]);
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <Anchor href="#content" className={classes.skip ?? ''}>
        Skip to the content
      </Anchor>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label="Navigation"
              aria-expanded={isOpen}
            />
            <Go to="/" underline="never" c="inherit" fw={700} style={{ whiteSpace: 'nowrap' }}>
              Buyer Exchange
            </Go>
          </Group>
          <Group gap="sm" wrap="nowrap">
            <UnstyledButton
              className={classes.search ?? ''}
              onClick={spotlight.open}
              aria-label="Search"
              aria-keyshortcuts="Control+K"
            >
              <Text size="sm" visibleFrom="sm">
                Search <Kbd size="xs">Ctrl K</Kbd>
              </Text>
              <Text size="sm" hiddenFrom="sm">
                Search
              </Text>
            </UnstyledButton>
            <PersonMenu user={user} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        <Navigation />
      </AppShell.Navbar>
      <AppShell.Main id="content">
        <Notices />
        <Outlet />
      </AppShell.Main>
      <SearchBox />
    </AppShell>
  );
};
