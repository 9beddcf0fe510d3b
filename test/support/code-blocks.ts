/** Returns the contents of the code blocks of a page with that label, such as `sh`. */
export function listCodeBlocks(page: string, label: string): readonly string[] {
  const blocks = page.matchAll(new RegExp(`^\`\`\`${label}\\n(.*?)^\`\`\``, 'gms'))
  return [...blocks].map(([, content = '']) => content)
}

/** Returns the lines of all code blocks of a page that are for a shell. */
export function listCommands(page: string): readonly string[] {
  return listCodeBlocks(page, 'sh').flatMap((content) => content.trimEnd().split('\n'))
}
