import { useRead } from '../../api/query.ts';
import { Go } from '../../pieces/go.tsx';
import { MEMBERS, type Member } from './members.tsx';

/** A person by name. Those who have left the account have only their id. */
export const MemberName = ({ id }: { readonly id: string }) => {
  const { data = [] } = useRead<readonly Member[]>(MEMBERS, { take: 200 });
  return <Go to={`/members/${id}`}>{data.find((member) => member.id === id)?.name ?? id}</Go>;
};
