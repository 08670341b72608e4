import { createContext, use, type ReactNode } from 'react';
import type { User } from '../api/types.ts';

const Session = createContext<User | undefined>(undefined);

export const SessionOf = ({ user, children }: { readonly user: User; readonly children: ReactNode }) => (
  <Session value={user}>{children}</Session>
);

/** The signed-in person. */
export const useUser = (): User => {
  const user = use(Session);
  if (user === undefined) throw new Error('only screens in the shell have a person');
  return user;
};
