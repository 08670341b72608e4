import { useParams } from '@tanstack/react-router';
import { Causes } from '../pieces/causes.tsx';
import { Page } from '../pieces/page.tsx';

const Request = () => {
  const { requestId = '' } = useParams({ strict: false });
  return (
    <Page
      title="What a request caused"
      about="Its changes, the work that followed, and the answers of agents."
    >
      <Causes requestId={requestId} />
    </Page>
  );
};

export default Request;
