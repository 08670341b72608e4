import { NavLink, ScrollArea, Text, type NavLinkProps } from '@mantine/core';
import { createLink, useRouterState } from '@tanstack/react-router';
import type { Ref } from 'react';
import type { UrlState } from '../pieces/url-state.ts';
import { useUser } from './session.tsx';
import { screens, sections, type Screen } from './screens.ts';

interface LinkProps extends NavLinkProps {
  readonly ref?: Ref<HTMLAnchorElement>;
  readonly isHere: boolean;
}

const PlainLink = ({ ref, label, isHere, ...rest }: LinkProps) => (
  <NavLink
    {...rest}
    ref={ref ?? null}
    label={label}
    active={isHere}
    // All pages fit a window of 720 pixels.
    py={3}
    aria-current={isHere ? 'page' : undefined}
  />
);
const Link = createLink(PlainLink);

export const Navigation = () => {
  const { role } = useUser();
  const shown = screens.filter(({ needs }) => needs === undefined || needs === role);
  const here = useRouterState({ select: ({ location }) => location.pathname });
  const advertiserId = useRouterState({
    select: ({ location }) => (location.search as UrlState)['advertiserId'],
  });
  const linkOf = ({ path, label, isOfAdvertiser }: Screen) => (
    <Link
      key={path}
      to={path}
      search={isOfAdvertiser === true && advertiserId !== undefined ? { advertiserId } : {}}
      label={label}
      isHere={path === '/' ? here === '/' : here === path || here.startsWith(`${path}/`)}
    />
  );
  return (
    <ScrollArea type="auto" component="nav">
      {shown.filter(({ label, section }) => label !== undefined && section === undefined).map(linkOf)}
      {sections.map((section) => {
        const own = shown.filter((screen) => screen.label !== undefined && screen.section === section);
        return own.length === 0 ? null : (
          <div key={section} role="group" aria-label={section}>
            <Text size="xs" c="dimmed" px="sm" pt="sm" pb={2}>
              {section}
            </Text>
            {own.map(linkOf)}
          </div>
        );
      })}
    </ScrollArea>
  );
};
