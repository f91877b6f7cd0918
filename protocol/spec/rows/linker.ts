// The run-time linker.
import { unsupported, rows } from '../builders.js';
import { LINKER } from '../reasons.js';

export const linker = rows('linker', [
  unsupported('cuLinkAddData', 5050, LINKER),
  unsupported('cuLinkAddFile', 5050, LINKER),
  unsupported('cuLinkComplete', 5050, LINKER),
  unsupported('cuLinkCreate', 5050, LINKER),
  unsupported('cuLinkDestroy', 5050, LINKER),
  unsupported('cuLinkAddData_v2', 6050, LINKER),
  unsupported('cuLinkAddFile_v2', 6050, LINKER),
  unsupported('cuLinkCreate_v2', 6050, LINKER),
]);
