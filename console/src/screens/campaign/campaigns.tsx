import { Page } from '../../pieces/page.tsx';
import { CampaignTable } from './campaign-table.tsx';
import { useNewCampaign } from './new-campaign.tsx';

const Campaigns = () => {
  const { button, form } = useNewCampaign();
  return (
    <Page title="Campaigns" about="Drafts, what runs, and what has ended." actions={button}>
      <CampaignTable create={button} />
      {form}
    </Page>
  );
};

export default Campaigns;
