// The run-time linker. The worker's driver links; what comes out is kept in the client until the link is
// destroyed, because programs load it from there.
import { asyncCall, local, sync, rows } from '../builders.js';

const options =
  'numOptions: uint, options: reads CUjit_option*[numOptions], optionValues: reads void**[numOptions]';
const data =
  'state: CUlinkState, type: CUjitInputType, data: reads void*[size], size: size, name: reads const char*';
const file = 'state: CUlinkState, type: CUjitInputType, path: reads const char*';

export const linker = rows('linker', [
  asyncCall('cuLinkCreate_v2', 6050, `${options}, stateOut: out CUlinkState`, {
    client: 'the handle is minted; where logs go is remembered',
    worker: 'logs are kept until they are asked for',
  }),
  local('cuLinkCreate', 5050, `${options}, stateOut: out CUlinkState`, { as: 'cuLinkCreate_v2' }),
  sync('cuLinkAddData_v2', 6050, `${data}, ${options}`, {
    client: 'the data is sent, and logs come back',
    worker: 'lengths in the data are checked before a driver believes them',
  }),
  local('cuLinkAddData', 5050, `${data}, ${options}`, { as: 'cuLinkAddData_v2' }),
  local('cuLinkAddFile_v2', 6050, `${file}, ${options}`),
  local('cuLinkAddFile', 5050, `${file}, ${options}`, { as: 'cuLinkAddFile_v2' }),
  sync('cuLinkComplete', 5050, 'state: CUlinkState, cubinOut: writes void**, sizeOut: out size', {
    client: 'the image is kept until the link is destroyed',
    worker: 'image and logs are sent',
  }),
  asyncCall('cuLinkDestroy', 5050, 'state: CUlinkState', {
    client: 'the image goes with the handle',
    worker: 'the session’s own table of links',
  }),
]);
