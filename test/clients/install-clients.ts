import type { TestProject } from 'vitest/node'
import {
  installPythonEnvironment,
  pythonEnvironments,
  type PythonEnvironment,
} from './python-environments.ts'

declare module 'vitest' {
  // Typed access to the values that vitest provides.
  interface ProvidedContext {
    installedPython: readonly PythonEnvironment[]
  }
}

/** Installs the real clients, and prints which cannot be installed and why. */
export async function setup(project: TestProject): Promise<void> {
  const installed: PythonEnvironment[] = []
  for (const environment of Object.keys(pythonEnvironments) as PythonEnvironment[]) {
    const obstacle = await installPythonEnvironment(environment)
    if (obstacle === undefined) installed.push(environment)
    else console.warn(`SKIPPED: the tests with Python ${environment}, as it cannot be installed: ${obstacle}`)
  }
  project.provide('installedPython', installed)
}
