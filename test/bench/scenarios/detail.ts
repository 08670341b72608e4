import type { AdvertiserResource } from '../../../domain/advertisers/resource.ts';
import type { CampaignResource } from '../../../domain/campaigns/resource.ts';
import type { CreativeResource } from '../../../domain/creatives/resource.ts';
import { apiOf } from '../../support/api-client.ts';
import { png } from '../../support/sample-media.ts';
import { reserve, send } from '../../support/uploads.ts';
import { rawRequest } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { openFileService, openStage } from '../stage.ts';
import { authorized, rate } from './advertiser-requests.ts';
import type { Scenario } from './scenario.ts';

const CONNECTIONS = 32;
const GOAL = 0.7;
const ASSETS = 3;
/** The length of a measurement. With a tenth of a second, two runs had ratios of 0.69 and 1.37. */
const SECONDS_MIN = 0.25;

/**
 * Endpoint 9, which joins when it reads, against Express 5 with one prepared query of a row that contains the same
 * answer as text: no account, no join, no wait for a read model.
 */
export const creativeDetails: Scenario = async (bench) => {
  const own = await bench.shared(openFileService);
  const { service } = own;
  const { bare } = await bench.shared(openStage);
  const base = `http://127.0.0.1:${service.port}`;
  const api = apiOf(base, authorized(own));
  const { id: advertiserId } = (await api.post<AdvertiserResource>('/advertisers', { name: 'Bench' })).body
    .data;
  const { id: campaignId } = (await api.post<CampaignResource>('/campaigns', { advertiserId, name: 'Bench' }))
    .body.data;

  const seconds = Math.max(bench.seconds, SECONDS_MIN);
  const compare = async (assets: number): Promise<Line> => {
    const slots: object[] = [];
    for (let n = 0; n < assets; n += 1) {
      const { data } = (await reserve(api, advertiserId, { name: `Hero ${n}`, mimeType: 'image/png' })).body;
      const { pathname, search } = new URL(data.uploadUrl);
      await send(`${base}${pathname}${search}`, png(300, 250));
      slots.push({ slotId: `slot-${n}`, kind: 'asset', assetId: data.assetId });
    }
    const made = await api.post<CreativeResource>(`/campaigns/${campaignId}/creatives/create`, {
      formatKind: 'image',
      name: `With ${assets}`,
      slots,
    });
    const { id } = made.body.data;
    const detail = await api.get(`/creatives/${id}/detail`);
    const { data } = JSON.parse(detail.text) as { data: object };
    await fetch(`http://127.0.0.1:${bare.port}/rows/${id}`, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(data),
    });
    const ourRequest = rawRequest('GET', `/api/v2/buyer/creatives/${id}/detail`, authorized(own));
    const bareRequest = rawRequest('GET', `/rows/${id}`, {});
    const result = await alternate(
      bench.rounds,
      () => rate(service.port, CONNECTIONS, seconds, () => ourRequest),
      () => rate(bare.port, CONNECTIONS, seconds, () => bareRequest),
    );
    return lineOf({
      name: `GET creative detail, ${assets} assets, ${detail.text.length} bytes`,
      unit: '/s',
      ...result,
      baselineName: 'Express 5 + prepared JSON row',
      goal: GOAL,
    });
  };
  return [await compare(0), await compare(ASSETS)];
};
