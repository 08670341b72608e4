import { Alert, Button, Group } from '@mantine/core';
import { useState, type ReactNode } from 'react';

interface FormBase<Resource> {
  readonly base: Resource;
  /** Another one means a new form. */
  readonly formKey: number;
  readonly notice: ReactNode;
  readonly onSaved: (saved: Resource) => void;
}

/**
 * The state that a form began with. A change by another person neither replaces what is typed nor is overwritten: forms
 * send `base.revision` as `expectedRevision`.
 */
export const useFormBase = <Resource extends { readonly revision: number }>(
  present: Resource,
): FormBase<Resource> => {
  const [base, setBase] = useState(present);
  const [formKey, setFormKey] = useState(0);
  const startAgain = (): void => {
    setBase(present);
    setFormKey(formKey + 1);
  };
  return {
    base,
    formKey,
    notice: present.revision > base.revision && (
      <Alert color="yellow" mb="md">
        <Group justify="space-between">
          It has changed since this form began.
          <Button size="compact-sm" variant="default" onClick={startAgain}>
            Show the present values
          </Button>
        </Group>
      </Alert>
    ),
    onSaved: setBase,
  };
};
