/** Runs a step of a scenario, and prints how it ended. A failed one does not end the scenario. */
export async function step(name, action) {
  try {
    await action()
    console.log(`ok ${name}`)
  } catch (error) {
    console.log(`failed ${name}: ${String(error).replaceAll('\n', ' ').slice(0, 500)}`)
  }
}
