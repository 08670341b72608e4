/** Comments, string literals, and regular expressions, which are skipped so that a quote in one does not open a string. */
const TOKENS =
  /(?<block>\/\*[\s\S]*?\*\/)|(?<line>\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*)|(?<=(?:[=(,:?&|![{};>\n]|return)[ \t]*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*|(?<text>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`)/g;

/** Stands for every character that is not prose. It matches no phrase and no white space, so it ends a sentence. */
const GAP = '\0';

const gaps = (text: string) => text.replace(/\S/g, GAP);
const first = (text: string) => GAP.padEnd(text.length);

/**
 * The comments and string texts of a TypeScript or JavaScript source; everything else is `GAP` or white space. Strings
 * without a space are names or paths, not prose. Offsets and line breaks stay, so an index gives the source's line.
 */
export const proseOfSource = (source: string) => {
  let prose = '';
  let end = 0;
  for (const match of source.matchAll(TOKENS)) {
    const { block, line, text } = match.groups ?? {};
    prose += gaps(source.slice(end, match.index));
    end = match.index + match[0].length;
    if (block !== undefined) {
      prose += block.replace(/^\/\*+|\*+\/$/g, first).replace(/(?<=\n[ \t]*)\*/g, ' ');
    } else if (line !== undefined) {
      prose += line.replace(/(?<=^|\n[ \t]*)\/\//g, '  ').replace(/^ /, GAP);
    } else if (text?.includes(' ') === true) {
      prose += GAP + text.slice(1, -1) + GAP;
    } else {
      prose += gaps(match[0]);
    }
  }
  return prose + gaps(source.slice(end));
};

/** The text of a Markdown file without `code spans` and link targets, which quote names. */
export const proseOfMarkdown = (source: string) =>
  source.replace(/(?<!`)`[^`\n]+`(?!`)|(?<=\])\([^)\n]*\)/g, gaps);
