export async function seriesOf(
  { adminUrl }: { readonly adminUrl: string },
  name: string,
): Promise<Readonly<Record<string, number>>> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
  const lines = metrics
    .split('\n')
    .filter((line) => /^[ {]/.test(line.replace(name, '')) && line.startsWith(name))
  return Object.fromEntries(
    lines.map((line) => {
      const end = line.lastIndexOf(' ')
      return [line.slice(name.length, end), Number(line.slice(end + 1))]
    }),
  )
}
