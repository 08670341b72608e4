import { describe, expect, it } from '@jest/globals';
import { findPhrases, PHRASES } from '../phrases/phrases.ts';

const phrasesOf = (source: string, path = 'app/x.ts') =>
  findPhrases(path, source).map(({ phrase }) => phrase);

describe('the phrase check', () => {
  it.each(PHRASES)('finds "$bad"', ({ bad, good, instead }) => {
    expect(findPhrases('app/x.ts', `/** ${bad} */\n`).map((finding) => finding.instead)).toContain(instead);
    expect(phrasesOf(`/** ${good} */\n`)).toEqual([]);
  });

  it('names the line and finds a phrase across a line break', () => {
    const source = 'const a = 1;\n/**\n * The schema is made\n *   by a process of\n * its own.\n */\n';
    expect(findPhrases('app/x.ts', source)).toEqual([
      { line: 4, phrase: 'of its own', instead: expect.stringContaining('its own') },
    ]);
    expect(phrasesOf('// one of\n// its own\n')).toEqual(['of its own']);
  });

  it('reads comments and texts, not code, paths or regular expressions', () => {
    expect(
      phrasesOf('const nobody = /somebody`/;\nimport "./beside/nobody.ts";\nconst beside = nobody;'),
    ).toEqual([]);
    expect(phrasesOf("refuse('nobody may'); // anew")).toEqual(['nobody', 'anew']);
    expect(phrasesOf('log(`${n} made anew`);')).toEqual(['anew']);
  });

  it('reads documents except code spans and link targets', () => {
    expect(phrasesOf('`nobody` works [beside](nobody.md) it', 'docs/x.md')).toEqual(['beside']);
  });

  it.each(['type Told = 1;', 'interface Kept {}', 'class Listed {}', 'type Rest<T> = T;'])(
    'finds %s',
    (source) => {
      expect(phrasesOf(source)).toHaveLength(1);
    },
  );

  it('accepts nouns', () => {
    expect(phrasesOf('type Feed = 1; interface SealedText {} type StoredEvent = 2;')).toEqual([]);
  });

  it('finds file names', () => {
    expect(phrasesOf('', 'cli/words.ts')).toEqual(['file words']);
    expect(phrasesOf('', 'app/asset-parts.ts')).toEqual(['file asset-parts']);
    expect(phrasesOf('', 'cli/passwords.ts')).toEqual([]);
  });
});
