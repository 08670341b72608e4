import { expect, it } from '@jest/globals';
import {
  comparisonOf,
  isStarting,
  printed,
  scriptOf,
  settingsOf,
  stepsOf,
  withAnswers,
} from '../support/runnable-page.ts';

const page = (answer: string): string =>
  [
    '```sh\nLIMIT_CREDENTIAL=1000/60 npm start\n```',
    '```sh\ncall POST /things\n```',
    '```json\n' + answer + '\n```',
    '```sh\necho no answer\n```',
  ].join('\n\n');

const shown = '{ "data": { "id": 1, "at": "2026-01-01T00:00:00.000Z", "tags": ["a"] } }';

it('finds the commands, their answers, and the command that starts the service', () => {
  const [start, post, echo] = stepsOf(page(shown));
  expect(start && isStarting(start)).toBe(true);
  expect(settingsOf(page(shown))).toEqual({ LIMIT_CREDENTIAL: '1000/60' });
  expect(post).toEqual({ command: 'call POST /things', shown });
  expect(post && isStarting(post)).toBe(false);
  expect(echo?.shown).toBeUndefined();
});

it('separates the outputs of the steps', () => {
  const steps = stepsOf(page(shown)).slice(1);
  expect(scriptOf(steps)).toContain('call POST /things\n');
  expect(printed('one\n\n=== end of step ===\n\n=== end of step ===\ncut off')).toEqual(['one', '']);
});

it.each([
  [
    'other ids, times and members',
    '{"data":{"id":1,"at":"2027-05-05T11:11:11.111Z","tags":["a"],"more":2}}',
    true,
  ],
  ['another value', '{"data":{"id":2,"at":"2027-05-05T11:11:11.111Z","tags":["a"]}}', false],
  ['a missing member', '{"data":{"at":"2027-05-05T11:11:11.111Z","tags":["a"]}}', false],
  ['a longer list', '{"data":{"id":1,"at":"2027-05-05T11:11:11.111Z","tags":["a","b"]}}', false],
])('compares the members on the page: %s', (_name, output, isEqual) => {
  const compared = comparisonOf(shown, output);
  expect(JSON.stringify(compared.actual) === JSON.stringify(compared.shown)).toBe(isEqual);
});

it('updates the values of the members on the page', () => {
  const written = withAnswers(
    page('{ "data": { "id": 7, "at": "2026-01-01T00:00:00.000Z", "tags": [] } }'),
    new Map([
      ['call POST /things', '{"data":{"id":1,"at":"2027-05-05T11:11:11.111Z","tags":["a"],"more":2}}'],
    ]),
  );
  expect(written).toBe(page(shown));
});
