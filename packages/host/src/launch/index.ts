export { type Described, described, handedOver } from './described.ts'
export { Discretion, Launch } from './launch.ts'
export { type MachineVariable, machineVariables } from './machine-variables.ts'
export { reconfigure } from './reconfigure.ts'
