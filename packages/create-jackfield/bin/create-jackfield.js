#!/usr/bin/env node
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `The projects that create-jackfield writes run TypeScript directly, which needs Node 22.18 or later; this is Node ${process.versions.node}. See https://nodejs.org/.`,
  )
  process.exitCode = 2
} else {
  await import('../dist/main.js')
}
