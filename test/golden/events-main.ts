import { writeEventDocs } from './events-docs.ts';
import { makeGolden } from './make-golden.ts';

/**
 *     golden [--also TYPE,...]   golden files for what has none yet
 *     docs                       docs/events anew
 */
const [command, flag, types = ''] = process.argv.slice(2);
if (command === 'golden') {
  const made = makeGolden(flag === '--also' ? types.split(',') : []);
  console.log(made.length === 0 ? 'nothing is missing' : made.join('\n'));
} else if (command === 'docs') {
  writeEventDocs();
} else {
  throw new Error('golden or docs?');
}
