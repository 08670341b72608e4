interface Brief {
  readonly brief?: string | undefined;
}

const product = (product_id: string, name: string, description: string, fixed_price: number) => ({
  product_id,
  name,
  description,
  publisher_properties: [{ publisher_domain: 'news.example', selection_type: 'all' }],
  format_ids: [{ agent_url: 'https://creative.example', id: 'display_300x250' }],
  delivery_type: 'guaranteed',
  channels: ['display'],
  pricing_options: [{ pricing_option_id: 'cpm', pricing_model: 'cpm', currency: 'USD', fixed_price }],
  reporting_capabilities: {},
});

/** What the sandbox agent sells: always the same two products, and a proposal for those that say what they want. */
export const sandboxProducts = ({ brief = '' }: Brief) => {
  const products = [
    product('homepage', 'Homepage', 'A banner on the homepage for a week', 12.5),
    product('articles', 'Articles', 'A banner next to articles about the subject', 8),
  ];
  const allocations = [
    { product_id: 'homepage', allocation_percentage: 40 },
    { product_id: 'articles', allocation_percentage: 60 },
  ];
  const proposals = [{ proposal_id: 'homepage-and-articles', name: 'Reach and relevance', allocations }];
  return { products, ...(brief !== '' && { proposals }) };
};
