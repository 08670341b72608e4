import { createProgram } from '../../cli/program.ts';
import type { OperatorCommand, Tools } from '../../cli/command.ts';
import { GENERATED, pageOf, tableOf } from './markdown.ts';

const unused = (): never => {
  throw new Error('the page only describes commands');
};

const tools: Tools = {
  config: unused,
  installation: unused,
  isJson: () => false,
  print: unused,
  remark: unused,
  withProgress: unused,
  fail: unused,
};

const sectionOf = (command: OperatorCommand): readonly string[] => {
  const { registeredArguments, options, statuses } = command;
  const inputs = [
    ...registeredArguments.map((one) => [
      `\`${one.name()}\``,
      one.required ? 'required' : '',
      one.description,
    ]),
    ...options.map((option) => [
      `\`${option.flags}\``,
      option.mandatory ? 'required' : '',
      option.description,
    ]),
  ];
  return [
    `## ${command.words()}`,
    command.description(),
    `\`\`\`sh\nnpx exchange ${command.words()} ${command.usage()}\n\`\`\``,
    ...(inputs.length === 0 ? [] : [tableOf(['argument or option', '', 'meaning'], inputs)]),
    `Exit status ${Object.entries(statuses)
      .map(([status, meaning]) => `${status}: ${meaning}`)
      .join('; ')}.`,
  ];
};

export const cliPage = (): string => {
  let help = '';
  const program = createProgram(tools, {
    writeOut: (text) => (help += text),
    getOutHelpWidth: () => 100,
    getOutHasColors: () => false,
  });
  program.outputHelp();
  return pageOf(
    '# Command line',
    `Every command of the operator. ${GENERATED} ` +
      'The commands work with and without a running service and read the same [settings](configuration.md).',
    `\`\`\`\n${help.trim()}\n\`\`\``,
    ...program.leaves().flatMap(sectionOf),
  );
};
