import { Alert, Text } from '@mantine/core';
import { problemOf } from '../api/call.ts';
import { CopyId } from './copy-id.tsx';

/** What was refused, and what names it to the operator. */
export const Problem = ({ error }: { readonly error: unknown }) => {
  if (error === null || error === undefined) return null;
  const { message, field, requestId } = problemOf(error);
  return (
    <Alert color="red" role="alert" variant="light" title={message}>
      {field !== undefined && <Text size="sm">Field: {field}</Text>}
      {requestId !== undefined && (
        <Text size="sm" component="div">
          Request <CopyId id={requestId} />
        </Text>
      )}
    </Alert>
  );
};
