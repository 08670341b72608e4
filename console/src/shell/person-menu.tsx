import { Button, Menu, Text, useMantineColorScheme } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { queryClient, useWrite } from '../api/query.ts';
import type { User } from '../api/types.ts';

const schemes = [
  ['auto', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

export const PersonMenu = ({ user }: { readonly user: User }) => {
  const navigate = useNavigate();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const signOut = useWrite(() => ({ method: 'POST', path: '/auth/sign-out', body: {} }), []);
  const leave = async (): Promise<void> => {
    await signOut.mutateAsync();
    queryClient.clear();
    location.assign('/console/sign-in');
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant="subtle"
          size="compact-sm"
          maw={180}
          title={user.email}
          aria-label={`You: ${user.name}`}
        >
          <Text inherit truncate visibleFrom="sm">
            {user.name}
          </Text>
          <Text inherit hiddenFrom="sm">
            You
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.email}</Menu.Label>
        <Menu.Item onClick={() => void navigate({ to: '/account' })}>Your account</Menu.Item>
        <Menu.Label>Colours</Menu.Label>
        {schemes.map(([value, label]) => (
          <Menu.Item
            key={value}
            onClick={() => setColorScheme(value)}
            aria-checked={colorScheme === value}
            role="menuitemradio"
          >
            {label}
            {colorScheme === value ? ' ✓' : ''}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void leave()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
};
