import { makeGolden } from './make-golden.ts';

/** `npm run golden:events [-- --also TYPE,...]`: writes golden files for event versions that have none. */
const [flag, types = ''] = process.argv.slice(2);
const made = makeGolden(flag === '--also' ? types.split(',') : []);
console.log(made.length === 0 ? 'no golden file is missing' : made.join('\n'));
