import { describe, expect, it } from '@jest/globals';
import { sessionAggregate } from '../../domain/accounts/session.ts';
import type { SessionEvent } from '../../domain/accounts/session-events.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(sessionAggregate);
const now = '2026-11-21T10:00:00.000Z';
const session = { sessionId: 's', userId: '7-1', method: 'password' } as const;
const started: SessionEvent = { type: 'SessionStarted', data: session, occurredAt: now };
const ended: SessionEvent = { type: 'SessionEnded', data: { reason: 'signed-out' }, occurredAt: now };

describe('a session', () => {
  it('starts once', () => {
    given()
      .when({ type: 'StartSession', now, ...session })
      .then(started);
    given(started)
      .when({ type: 'StartSession', now, ...session, method: 'sign-up' })
      .thenNothing();
  });
  it('ends once, with the first reason', () => {
    given(started).when({ type: 'EndSession', now, reason: 'signed-out' }).then(ended);
    const { state, thenNothing } = given(started, ended).when({
      type: 'EndSession',
      now,
      reason: 'too-many',
    });
    thenNothing();
    expect(state()).toMatchObject({ status: 'ENDED', endReason: 'signed-out', endedAt: now });
  });
  it('does not start again', () => {
    given(started, ended)
      .when({ type: 'StartSession', now, ...session })
      .thenNothing();
  });
  it('must exist to end', () => {
    given().when({ type: 'EndSession', now, reason: 'ended' }).thenRefused({ reason: 'no-such-session' });
  });
});
