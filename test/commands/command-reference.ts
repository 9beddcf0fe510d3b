import { runCommand } from '../support/run-command.ts'

const heading = `# Commands

What \`--help\` prints. \`catalog-gateway\` is the command of the package and of the images; in a checkout of this repository, it is
\`npx catalog-gateway\` after \`npm run build\`. The exit status is 0 for success, 1 for a negative result, such as a failed test or a
broken log, and 2 for a wrong use. Results go to standard output, all else to standard error.
`

/** Formats `docs/commands.md`: the help of every command. */
export async function commandReference(): Promise<string> {
  const { output } = await runCommand(['--help'])
  const sections: string[] = []
  for (const name of listCommands(output)) sections.push(...(await describe([name])))
  return [heading, ...sections].join('\n')
}

async function describe(path: readonly string[]): Promise<readonly string[]> {
  const { output } = await runCommand([...path, '--help'])
  const sections = [`## ${path.join(' ')}\n\n\`\`\`text\n${output.trimEnd()}\n\`\`\`\n`]
  for (const name of listCommands(output)) sections.push(...(await describe([...path, name])))
  return sections
}

function listCommands(help: string): readonly string[] {
  const listed = help.split('\nCommands:\n')[1]?.split('\n\n')[0] ?? ''
  const names = [...listed.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name)
  return names.filter((name) => name !== 'help')
}
