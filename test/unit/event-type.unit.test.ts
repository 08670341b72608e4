import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';
import { adcp30TypesOf, EventType } from '../../domain/event-sources/event-type.ts';

/** The schema that the AdCP client validates requests with. */
const schemaOfAdcp30 = (): { readonly enum: readonly string[] } => {
  const package_ = dirname(createRequire(import.meta.url).resolve('@adcp/sdk'));
  const file = join(package_, 'schemas-data', '3.0', 'enums', 'event-type.json');
  return JSON.parse(readFileSync(file, 'utf8')) as { readonly enum: readonly string[] };
};

it('event types are those of AdCP 3.0 and three more, which agents receive as `custom`', () => {
  const known = schemaOfAdcp30().enum;
  const more = EventType.options.filter((type) => !known.includes(type));
  expect(more).toEqual(['follow', 'content_view', 'watch_milestone']);
  expect(EventType.options).toHaveLength(known.length + more.length);
  for (const type of EventType.options) {
    expect(adcp30TypesOf([type])).toEqual([known.includes(type) ? type : 'custom']);
  }
  expect(adcp30TypesOf(['follow', 'purchase', 'custom', 'content_view'])).toEqual(['custom', 'purchase']);
});
