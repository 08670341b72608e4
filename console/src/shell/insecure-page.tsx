import { Alert, Container } from '@mantine/core';

/** Browsers drop the cookie of a session here, so a sign-in would fail without a word. */
export const InsecurePage = () => (
  <Container size="xs" py="xl" component="main">
    <Alert color="red" role="alert" title="Open this page with https">
      Browsers keep a sign-in only with https, or on the computer of the service itself at http://127.0.0.1 or
      http://localhost. Ask the operator for the https address of this service.
    </Alert>
  </Container>
);
