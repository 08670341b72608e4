import { proseOfMarkdown, proseOfSource } from './prose.ts';

/** A banned phrase. A space in the pattern matches any white space, also a line break inside a comment. */
export interface Phrase {
  readonly pattern: RegExp;
  /** What to write in its place. */
  readonly instead: string;
  /** A text that the pattern finds, and the same said well. */
  readonly bad: string;
  readonly good: string;
}

/** Phrases of comments, docstrings, texts and documents. Grows as they are met. */
export const PHRASES: readonly Phrase[] = [
  {
    pattern: /\b(?:no|some|any|every)body\b/i,
    instead: 'name the actor: the client, an operator, another process; "no process", "no caller"',
    bad: 'Somebody else holds the lock.',
    good: 'Another process holds the lock.',
  },
  {
    pattern: /\bwho(?:m|so)?ever\b/i,
    instead: 'name the actor: the client, the caller, the process that …',
    bad: 'Whoever takes it over repeats it.',
    good: 'The process that takes the claim over repeats the command.',
  },
  {
    pattern: /\bwhatever\b/i,
    instead: '"any …", "regardless of …", or name the cases',
    bad: 'The token is released, whatever ended the upload.',
    good: 'The token is released when the upload ends, also when it fails.',
  },
  {
    pattern: /\banew\b/i,
    instead: '"rebuilt", "created again", "restart"',
    bad: 'The schema is made anew.',
    good: 'The schema is rebuilt.',
  },
  {
    pattern: /\bof (?:its|their|our|his|your|one's) own\b/i,
    instead: '"its own X", "a separate X", "a dedicated X"',
    bad: 'It has a checkpoint of its own.',
    good: 'It has its own checkpoint.',
  },
  {
    pattern: /\b(?:is|are|was|were|be|been|being) (?:never |not |only |also )?told\b/i,
    instead: '"receives", "is notified", "the worker asks the agent to …", "cannot be distinguished"',
    bad: 'The agent is told to drop it.',
    good: 'The worker asks the agent to delete it.',
  },
  {
    pattern: /\b(?:has|have|had) it(?: so\b|(?=[.,;:)]))/i,
    instead: 'name what is held: "contains the row", "stores the key", "owns the lock"',
    bad: 'Not an error when the agent no longer has it.',
    good: 'Not an error when the agent has already deleted the creative.',
  },
  {
    pattern: /\bas (?:[\w'-]+ ){1,4}(?:has|have|had) it\b/i,
    instead: '"in the form that X defines", "as X defines it"',
    bad: 'The errors are a list, as AdCP has it.',
    good: 'The errors are a list, as AdCP defines it.',
  },
  {
    pattern: /\bBy (?:their|its)\b/,
    instead: '"Keyed by …", "Sorted by …", with a subject',
    bad: 'By their streams.',
    good: 'Keyed by stream.',
  },
  {
    pattern: /\bOf (?!course\b)[a-z]/,
    instead: 'begin with the subject: "The first of these …", "For a parked stream, …"',
    bad: 'Of whoever asks for no point: behind every event there is.',
    good: 'Default: the end of the log.',
  },
  {
    pattern: /\bbeside\b/i,
    instead: '"while … runs", "next to", "in addition to", "compared with"',
    bad: 'Works beside a running service.',
    good: 'Works while the service runs.',
  },
  {
    pattern: /\bthere (?:is|are|was|were) (?:\w+ ){0,3}of (?:it|them)\b|\bis there (?:\w+ ){0,2}of\b/i,
    instead: 'name the thing and its count: "the file has no more bytes"',
    bad: 'Stops when there is nothing left of it.',
    good: 'Stops at the end of the file.',
  },
  {
    pattern: /\bknows? (?:GET|POST|PUT|PATCH|DELETE|HEAD)\b/,
    instead: '"Method not allowed. Allowed: GET, HEAD."',
    bad: 'This resource knows GET, HEAD.',
    good: 'Method not allowed. Allowed: GET, HEAD.',
  },
  {
    pattern: /\b(?:what|who) (?:is|are|was|were) of\b/i,
    instead: 'a noun: "personal data", "the rows of …"',
    bad: 'What is of persons is sealed in it.',
    good: 'Personal data is encrypted.',
  },
  {
    pattern: /\b(?:of|by|for|with|from|than|to|in|on|at) what (?:is|was|are|were)\b/i,
    instead: 'a noun: "the stored rows", "the pending work"',
    bad: 'Counts the size of what is stored.',
    good: 'Counts the stored bytes.',
  },
  {
    pattern: /\bwhat (?:has |have |had )?(?:became|become|becomes|comes|came|come) of\b/i,
    instead: '"the result of", "the outcome of", "the status of"',
    bad: 'Asks the agent what became of it.',
    good: 'Asks the agent for the status of the task.',
  },
  {
    pattern: /\bwhat (?:[\w'-]+ ){1,3}(?:made|makes|make) of\b/i,
    instead: '"the answer to", "the result of"',
    bad: 'What an agent made of a call.',
    good: "The agent's answer to a call.",
  },
  {
    pattern: /\b(?:come|comes|came) to (?:nothing|something)\b/i,
    instead: '"failed", "succeeded", "had an effect"',
    bad: 'The call came to nothing.',
    good: 'The call failed.',
  },
  {
    pattern: /\bstreams? says?\b/i,
    instead: '"the current state", "folded from its stream"',
    bad: 'A catalog as its stream says now.',
    good: 'The current state of a catalog.',
  },
  {
    pattern: /\b(?:is|are|was|were) (?:not )?known of\b/i,
    instead: '"the stored data about", "the state of"',
    bad: 'All that is known of a feed.',
    good: 'The stored state of a feed.',
  },
  {
    pattern: /\b(?:says?|said|saying) of\b/i,
    instead: '"reports about", "declares", "the seller\'s answer"',
    bad: 'What a seller says of a creative.',
    good: "The seller's review of a creative.",
  },
  {
    pattern: /\bhe(?:ar|ars|ard) of\b/i,
    instead: '"learns about", "is notified of"',
    bad: 'Every process hears of it.',
    good: 'Every process is notified.',
  },
  {
    pattern: /\b(?:that|which) (?:is|are) none\b|\b(?:is|are) none of\b/i,
    instead: '"is not a …", "is not one of …"',
    bad: 'A text that is none finds nothing.',
    good: 'A text that is not an id finds nothing.',
  },
  {
    pattern:
      /(?<!\bthere )\b(?:is|are|was|were) no (?!longer|more|less|later|earlier|older|newer|greater|larger|such|way|need|one\b|reason|exception)\w+/i,
    instead: '"is not a …"',
    bad: 'A value that is no address is refused.',
    good: 'A value that is not an address is refused.',
  },
  {
    pattern: /\b(?:is|are) no more\b/i,
    instead: '"no longer exists", "was deleted"',
    bad: 'A test that is no more must not run.',
    good: 'A deleted test must not run.',
  },
  {
    pattern: /\b(?:is|are|was|were) had\b/i,
    instead: '"is held", "is available"',
    bad: 'Starts when the row is had.',
    good: 'Starts when the row is locked.',
  },
  {
    pattern:
      /\b(?:is|are|was|were) of (?:an?|the|its|their|another|this|that|one|which) (?!type\b|form\b|order\b|same\b|kind\b|size\b|length\b|version\b)/i,
    instead: '"belongs to"',
    bad: 'The key is of the upload.',
    good: 'The key belongs to the upload.',
  },
  {
    pattern: /\b(?:is|are|was|were|be|been) away\b/i,
    instead: '"is unavailable", "does not answer"',
    bad: 'Answers 503 when the database is away.',
    good: 'Answers 503 when the database is unavailable.',
  },
  {
    pattern: /\bthe last word\b/i,
    instead: '"decides", "is authoritative"',
    bad: 'The stream has the last word.',
    good: 'The stream is authoritative, not the read model.',
  },
  {
    pattern: /\b(?:at most|at least|up to|after|for|within|every|once|in) so (?:many|long|much|far)\b/i,
    instead: 'name the parameter or the number, with its unit: "at most `limit` rows"',
    bad: 'Reads at most so many rows.',
    good: 'Reads at most `limit` rows.',
  },
  {
    pattern: /\bwhose (?:it|they|he) (?:is|are|was|were)\b/i,
    instead: '"the owner", "the account it belongs to"',
    bad: 'Only the row tells whose it was.',
    good: 'Only the row names the account.',
  },
  {
    pattern:
      /\b(?:held|taken|takes?|took) (?:\w+ )?for (?:dead|lost|whole|parked|others|one of|that of|an? (?!day|week|month|year|minute|second|hour|moment|long|short))/i,
    instead: '"treated as", "mistaken for"',
    bad: 'The copy would be taken for whole.',
    good: 'The copy would be treated as complete.',
  },
  {
    pattern: /\b(?:of a|its|the [a-z]+'s|an? [a-z]+'s|whose|which|kind of) things?\b/i,
    instead: '"resource", or its name: the campaign, the creative',
    bad: 'The history of a thing.',
    good: 'The history of a resource.',
  },
  {
    pattern: /\b(?:nothing|something) to (?:most|it|them|any)\b|\bnothing to its\b/i,
    instead: '"does not affect", "is ignored by"',
    bad: 'Most events are nothing to most read models.',
    good: 'Most read models ignore most events.',
  },
  {
    pattern:
      /\b(?<!byte order )(?<!question )(?:(?:the|an?|its|their|account's|read's|same) )marks?\b(?! (?:it|them|the|as))/i,
    instead: '"position", "last written position", "version"',
    bad: "The account's mark is raised.",
    good: "The account's last written position is updated.",
  },
  {
    pattern: /\bfences?\b(?! token)/i,
    instead: '"conditional checkpoint update", "lock", "guard"',
    bad: 'The fence lets one writer pass.',
    good: 'The conditional checkpoint update lets one writer pass.',
  },
  {
    pattern: /\b(?:this|each|every|which|whose|the|these) rooms?\b|\brooms of\b|\broom (?:for|enough)\b/i,
    instead: '"folder", "layer"; "space", "time", "a free slot"',
    bad: 'What each room may import.',
    good: 'What each folder may import.',
  },
  {
    pattern: /\b(?:the same|one|a|its|whose|this|these|own|hands? out) turns?\b/i,
    instead: '"event-loop iteration", "slot", "claim"',
    bad: 'Events that arrive in the same turn.',
    good: 'Events that arrive in the same event-loop iteration.',
  },
  {
    pattern: /\b(?:behind (?:it|them|that) (?:is|are|was|comes?)|is behind it|behind every)\b/i,
    instead: '"after it", "follows"',
    bad: 'The position behind every event.',
    good: 'The position after the last event.',
  },
  {
    pattern: /\blet(?:s|ting)? (?:itself|themselves) be\b|\blet itself\b/i,
    instead: '"can be", "cannot be"',
    bad: 'The log does not let itself be applied.',
    good: 'The log cannot be applied.',
  },
  {
    pattern:
      /\b(?:till|lately|hence|thence|whence|thereby|therein|thereof|thereupon|whereupon|hereby|herein|shall|lest)\b/i,
    instead: '"until", "recently", "so", "then", "must", "so that … not"',
    bad: 'The server shall know at once.',
    good: 'The server must learn this immediately.',
  },
  {
    pattern: /\bfor ever\b/i,
    instead: '"forever", "without limit", "indefinitely"',
    bad: 'The append is tried for ever.',
    good: 'The append is retried without limit.',
  },
  {
    pattern: /\bof today\b/i,
    instead: '"current"',
    bad: 'The form of today.',
    good: 'The current form.',
  },
  {
    pattern: /\b(?:may be|is|comes) (?:too )?(?:much|many) of\b|\bthere may be (?:much|many)\b/i,
    instead: 'name the thing: "many events may arrive"',
    bad: 'Of these there may be many.',
    good: 'Many of these may exist.',
  },
  {
    pattern: /\bas far as (?:\w+ ){1,3}(?:minds?|cares?)\b/i,
    instead: '"if the caller requires it"',
    bad: 'As far as the caller minds.',
    good: 'Undefined when the caller accepts any value.',
  },
  {
    pattern: /\bfor who (?:has|have|is|reads?|asks?|calls?|keeps?|wants?|waits?|knows?|writes?)\b/i,
    instead: '"for callers that …", "for a process that …"',
    bad: 'The same for who reads without a service.',
    good: 'The same for callers that read without a service.',
  },
  {
    pattern: /\b(?:goes|go|went) on where\b/i,
    instead: '"resumes", "continues"',
    bad: 'It goes on where it was.',
    good: 'It resumes at its checkpoint.',
  },
  {
    pattern: /\bwhichever\b/i,
    instead: '"any …", "each …", or name the actor',
    bad: 'Whichever dies is started again.',
    good: 'A process that ends is restarted.',
  },
  {
    pattern: /\bin vain\b/i,
    instead: '"without success", "failed"',
    bad: 'It was tried five times in vain.',
    good: 'Five attempts failed.',
  },
  {
    pattern: /\bbef(?:alls?|ell)\b/i,
    instead: '"happens to", "the outcome of"',
    bad: 'What befalls a call is drawn from the seed.',
    good: 'The seed determines the outcome of each call.',
  },
  {
    pattern: /\bin the words of (?:its|their)\b/i,
    instead: '"as X defines it", "with its entry in X"',
    bad: 'What waits, in the words of its list.',
    good: 'The pending work, with its list entry.',
  },
  {
    pattern: /\bcomes? to grief\b/i,
    instead: '"fails"',
    bad: 'One call in eight comes to grief.',
    good: 'One call in eight fails.',
  },
  {
    pattern: /\b(?:told|tells?) (?:\w+ )?apart\b/i,
    instead: '"distinguished", "distinguishes"',
    bad: 'Answers are told apart by their ids.',
    good: 'Answers are distinguished by their ids.',
  },
  {
    pattern: /\b(?:nothing|no one|none) but\b/i,
    instead: '"only"',
    bad: 'Contains nothing but tests.',
    good: 'Contains only tests.',
  },
  {
    pattern: /\bto be (?:had|told|heeded)\b/i,
    instead: '"available", "can be distinguished", "is valid"',
    bad: 'An answer that is to be had from memory.',
    good: 'An answer that is available in memory.',
  },
  {
    pattern: /\bis good for (?:that|this|one)\b/i,
    instead: '"is valid for"',
    bad: 'A cursor is good for that list only.',
    good: 'A cursor is valid for that list only.',
  },
  {
    pattern: /\b(?:is|are|was|were|be) let go of\b/i,
    instead: '"is closed", "is released"',
    bad: 'The client is let go of at the end.',
    good: 'The client is closed at the end.',
  },
  {
    pattern: /\b(?:its|their|whose) time (?:has |had )?c(?:omes?|ame)\b/i,
    instead: '"when it is due"',
    bad: 'It is swept once its time has come.',
    good: 'It is swept when it is due.',
  },
  {
    pattern: /\b(?:as|than) ever\b/i,
    instead: '"as before", "without the change"',
    bad: 'The body ends at the same time as ever.',
    good: 'The body ends at the usual time limit.',
  },
  {
    pattern: /\bwhat there (?:is|was)\b/i,
    instead: 'name it: "the stored rows", "the actual value"',
    bad: 'Says what was expected and what there is.',
    good: 'Contains the expected and the actual revision.',
  },
  {
    pattern: /\b(?:that|which|who) never (?:was|were)\b(?= (?:and|or)\b|[.,;:)'"`]|$)/im,
    instead: '"unknown", "that never existed"',
    bad: 'Refuses a connection that never was.',
    good: 'Refuses an unknown connection.',
  },
  {
    pattern: /\bright behind\b|\bbehind its last\b/i,
    instead: '"immediately after"',
    bad: 'A read right behind a write sees it.',
    good: 'A read immediately after a write sees it.',
  },
];

const searchOf = ({ pattern }: Phrase) =>
  new RegExp(pattern.source.replaceAll(' ', '\\s+'), `g${pattern.flags}`);

/** A type that is a participle or an adjective does not say what its values are. */
const TYPE_NAMES =
  /\b(?:type|interface|class) (?<phrase>Told|Untold|Asked|Kept|Rest|Seen|Given|Known|Shown|Written|Forgotten|Broken|Held|Taken|Left|Found|Made|(?!Feed|Seed|Speed|Need|Embed)[A-Z][a-z]+ed)\b/g;

/** File names of issue 22 that say nothing, with the name to use. */
const FILE_NAMES: readonly (readonly [name: string, instead: string])[] = [
  ['patience', 'timeouts'],
  ['words', 'parse-args'],
  ['take', 'deliver'],
  ['move-together', 'the thing it moves: move-checkpoints'],
  ['take-ahead', 'prefetch'],
  ['each-of', 'what it does to each'],
  ['defined', 'what it removes: omit-undefined'],
  ['causes', 'causation'],
  ['places', 'what it locates'],
  ['scatter', 'the data structure: fingerprint-table'],
  ['lanes', 'partitions'],
  ['behind', 'lag'],
  ['parts', 'what the parts are of'],
];

export interface Finding {
  readonly line: number;
  readonly phrase: string;
  readonly instead: string;
}

const SEARCHES = PHRASES.map((phrase) => ({ ...phrase, search: searchOf(phrase) }));

/**
 * Banned phrases and names in a file.
 * @param path decides how it is read: comments and texts of .ts, .js and .cjs, everything in others
 */
export const findPhrases = (path: string, source: string): readonly Finding[] => {
  const isSource = /\.c?[jt]s$/.test(path);
  const prose = isSource ? proseOfSource(source) : path.endsWith('.md') ? proseOfMarkdown(source) : source;
  const at = (index: number) => source.slice(0, index).split('\n').length;
  const findings: Finding[] = [];
  for (const { search, instead } of SEARCHES) {
    for (const match of prose.matchAll(search)) {
      findings.push({ line: at(match.index), phrase: match[0].replace(/\s+/g, ' '), instead });
    }
  }
  if (isSource) {
    for (const { groups, index } of source.matchAll(TYPE_NAMES)) {
      findings.push({ line: at(index), phrase: `type ${groups?.['phrase']}`, instead: 'a noun' });
    }
    for (const [name, instead] of FILE_NAMES) {
      const base = path.replace(/^.*\/|\.ts$/g, '');
      if (base === name || (name === 'parts' && base.endsWith('-parts')))
        findings.push({ line: 1, phrase: `file ${base}`, instead });
    }
  }
  return findings.toSorted((a, b) => a.line - b.line);
};
