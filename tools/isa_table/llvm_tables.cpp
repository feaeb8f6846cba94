// Reads LLVM's AMDGPU instruction descriptions out of the static libraries and prints them as JSON.
//
//   llvm_tables describe                      every opcode, register and scheduling class, one JSON document
//   llvm_tables synthesize CPU[,FEATURES]     one or more texts of every opcode, each register operand distinct
//   llvm_tables assemble CPU[,FEATURES]       assemble standard input; per instruction its opcode and operands,
//                                             per rejected line the error; one JSON object a line
//
// The AMDGPU namespace functions used here are not part of LLVM's public headers; they are linked from the archives.
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrDesc.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSchedule.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include <map>
#include <set>

using namespace llvm;

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
}

namespace llvm::AMDGPU {
enum class OpName : uint8_t;
OpName getOperandIdxName(uint16_t Opcode, int16_t Index);
bool isVOPD(unsigned Opcode);
} // namespace llvm::AMDGPU

namespace {

// Everything that LLVM needs to talk about one subtarget.
struct Machine {
  const Triple TargetTriple{"amdgcn-amd-amdhsa"};
  MCTargetOptions Options;
  const Target *TheTarget = nullptr;
  std::unique_ptr<MCRegisterInfo> Registers;
  std::unique_ptr<MCInstrInfo> Instructions;
  std::unique_ptr<MCAsmInfo> AsmInfo;
  std::unique_ptr<MCSubtargetInfo> Subtarget;
  std::unique_ptr<MCInstPrinter> Printer;

  explicit Machine(StringRef Argument) {
    auto [CPU, Features] = Argument.split(',');
    std::string Error;
    TheTarget = TargetRegistry::lookupTarget(TargetTriple, Error);
    if (!TheTarget) {
      errs() << Error << '\n';
      exit(1);
    }
    Registers.reset(TheTarget->createMCRegInfo(TargetTriple));
    Instructions.reset(TheTarget->createMCInstrInfo());
    AsmInfo.reset(TheTarget->createMCAsmInfo(*Registers, TargetTriple, Options));
    Subtarget.reset(TheTarget->createMCSubtargetInfo(TargetTriple, CPU, Features));
    Printer.reset(TheTarget->createMCInstPrinter(TargetTriple, 0, *AsmInfo, *Instructions, *Registers));
  }

  int operandName(unsigned Opcode, unsigned Index) const {
    return static_cast<int>(static_cast<uint8_t>(AMDGPU::getOperandIdxName(Opcode, Index)));
  }

  std::string mnemonic(unsigned Opcode) const {
    MCInst Instruction;
    Instruction.setOpcode(Opcode);
    auto [Text, Bits] = Printer->getMnemonic(Instruction);
    return Text ? StringRef(Text).rtrim().str() : std::string();
  }

  std::string print(const MCInst &Instruction) const {
    std::string Text;
    raw_string_ostream Stream(Text);
    Printer->printInst(&Instruction, 0, "", *Subtarget, Stream);
    return StringRef(Text).trim().str();
  }
};

// ---------------------------------------------------------------------------------------------------- describe

void describe(const Machine &M) {
  json::OStream J(outs());
  J.objectBegin();
  J.attribute("llvm", LLVM_VERSION_STRING);
  J.attributeArray("registers", [&] { // [name, encoding, names of the root registers of its units]
    for (unsigned R = 0; R < M.Registers->getNumRegs(); ++R)
      J.array([&] {
        J.value(R ? M.Registers->getName(R) : "");
        J.value(R ? static_cast<int64_t>(M.Registers->getEncodingValue(R)) : 0);
        J.array([&] {
          if (!R)
            return;
          for (MCRegUnit Unit : M.Registers->regunits(R))
            for (MCRegUnitRootIterator Root(Unit, M.Registers.get()); Root.isValid(); ++Root)
              J.value(M.Registers->getName(*Root));
        });
      });
  });
  const MCSchedModel &Model = M.Subtarget->getSchedModel();
  J.attributeArray("schedule", [&] {
    for (unsigned C = 0; C < Model.NumSchedClasses; ++C)
      J.value(Model.SchedClassNames ? Model.getSchedClassName(C) : StringRef());
  });
  J.attributeArray("opcodes", [&] {
    for (unsigned Opcode = 0; Opcode < M.Instructions->getNumOpcodes(); ++Opcode) {
      const MCInstrDesc &D = M.Instructions->get(Opcode);
      J.object([&] {
        J.attribute("name", M.Instructions->getName(Opcode));
        J.attribute("mnemonic", D.isPseudo() ? std::string() : M.mnemonic(Opcode));
        J.attribute("defs", static_cast<int64_t>(D.getNumDefs()));
        J.attribute("size", static_cast<int64_t>(D.getSize()));
        J.attribute("flags", formatv("{0:x}", D.getFlags()).str());
        J.attribute("tsflags", formatv("{0:x}", D.TSFlags).str());
        J.attribute("schedule", static_cast<int64_t>(D.getSchedClass()));
        J.attributeArray("operands", [&] { // [register class or null, tied to, operand name number]
          for (unsigned I = 0; I < D.getNumOperands(); ++I)
            J.array([&] {
              int16_t Class = M.Instructions->getOpRegClassID(D.operands()[I], 0);
              if (Class >= 0)
                J.value(M.Registers->getRegClassName(&M.Registers->getRegClass(Class)));
              else
                J.value(nullptr);
              J.value(static_cast<int64_t>(D.getOperandConstraint(I, MCOI::TIED_TO)));
              J.value(static_cast<int64_t>(M.operandName(Opcode, I)));
            });
        });
        J.attributeArray("implicit_defs", [&] {
          for (MCPhysReg R : D.implicit_defs())
            J.value(M.Registers->getName(R));
        });
        J.attributeArray("implicit_uses", [&] {
          for (MCPhysReg R : D.implicit_uses())
            J.value(M.Registers->getName(R));
        });
      });
    }
  });
  J.objectEnd();
}

// -------------------------------------------------------------------------------------------------- synthesize

// Numbers of named operands, found at instructions whose operand order is known.
class OperandNames {
  const Machine &M;
  std::map<std::string, unsigned> Opcodes;

public:
  explicit OperandNames(const Machine &M) : M(M) {
    for (unsigned Opcode = 0; Opcode < M.Instructions->getNumOpcodes(); ++Opcode)
      Opcodes[M.Instructions->getName(Opcode).str()] = Opcode;
  }
  int at(const char *Name, unsigned Index) const {
    auto Found = Opcodes.find(Name);
    if (Found == Opcodes.end()) {
      errs() << "no opcode named " << Name << '\n';
      exit(1);
    }
    return M.operandName(Found->second, Index);
  }
};

class Synthesizer {
  const Machine &M;
  const unsigned Mode;
  std::map<std::pair<unsigned, bool>, std::vector<unsigned>> Candidates;
  int DppControl, RowMask, BankMask, DestinationSelect, Source0Select, Source1Select, Dmask, Dim, Tfe, Enable, Cpol,
      Vdata;

  // Registers of a class, the preferred ones first: numbered, even, not among the first eight.
  const std::vector<unsigned> &candidates(unsigned Class, bool Agprs) {
    auto [Place, New] = Candidates.try_emplace({Class, Agprs});
    if (!New)
      return Place->second;
    std::vector<std::pair<int, unsigned>> Scored;
    for (unsigned R : M.Registers->getRegClass(Class)) {
      StringRef Name = M.Registers->getName(R);
      unsigned Number = M.Registers->getEncodingValue(R) & 0x3ff;
      int Score = Name.starts_with("VGPR") ? 30 : Name.starts_with("AGPR") ? (Agprs ? 40 : 20) : Name.starts_with("SGPR") ? 10 : 0;
      if (Name.contains("HI16"))
        Score -= 8;
      if (Number % 4 == 0)
        Score += 3;
      if (Number >= 8 && Number < 100)
        Score += 2;
      Scored.push_back({-Score, R});
    }
    llvm::stable_sort(Scored, [](auto &A, auto &B) { return A.first < B.first; });
    for (auto &[Score, R] : Scored)
      if (Place->second.size() < 120)
        Place->second.push_back(R);
    return Place->second;
  }

  unsigned pick(unsigned Class, bool Agprs, const std::vector<unsigned> &Used) {
    for (unsigned R : candidates(Class, Agprs))
      if (llvm::none_of(Used, [&](unsigned U) { return M.Registers->regsOverlap(R, U); }))
        return R;
    return 0;
  }

  int width(unsigned Opcode, int Name) const { // dwords of the named register operand, 0 when there is none
    const MCInstrDesc &D = M.Instructions->get(Opcode);
    for (unsigned I = 0; I < D.getNumOperands(); ++I)
      if (M.operandName(Opcode, I) == Name)
        if (int16_t Class = M.Instructions->getOpRegClassID(D.operands()[I], Mode); Class >= 0)
          return M.Registers->getRegClass(Class).getSizeInBits() / 32;
    return 0;
  }

  int64_t immediate(unsigned Opcode, int Name, unsigned OperandType, unsigned Round) const {
    const uint64_t Flags = M.Instructions->get(Opcode).TSFlags;
    const uint64_t Gather4 = 1ull << 37, AtomicReturn = 1ull << 58;
    if (Name == Cpol)
      return Flags & AtomicReturn ? 1 : 0;
    if (Name == Dmask) {
      int Dwords = width(Opcode, Vdata);
      return Flags & Gather4 ? 1 : Dwords >= 4 || !Dwords ? 0xf : (1 << Dwords) - 1;
    }
    if (Name == Tfe)
      return width(Opcode, Vdata) == 5;
    if (Name == Dim)
      return Round;
    if (Name == DppControl)
      return Round ? 0x150 : 0;
    if (Name == RowMask || Name == BankMask || Name == Enable)
      return 0xf;
    if (Name == DestinationSelect || Name == Source0Select || Name == Source1Select)
      return 6; // DWORD
    return 0;
  }

public:
  explicit Synthesizer(const Machine &M) : M(M), Mode(M.Subtarget->getHwMode(MCSubtargetInfo::HwMode_RegInfo)) {
    OperandNames Names(M);
    DppControl = Names.at("V_MOV_B32_dpp", 3);
    RowMask = Names.at("V_MOV_B32_dpp", 4);
    BankMask = Names.at("V_MOV_B32_dpp", 5);
    DestinationSelect = Names.at("V_ADD_F32_sdwa", 7);
    Source0Select = Names.at("V_ADD_F32_sdwa", 9);
    Source1Select = Names.at("V_ADD_F32_sdwa", 10);
    Vdata = Names.at("IMAGE_LOAD_V1_V1_gfx10", 0);
    Dmask = Names.at("IMAGE_LOAD_V1_V1_gfx10", 3);
    Dim = Names.at("IMAGE_LOAD_V1_V1_gfx10", 4);
    Tfe = Names.at("IMAGE_LOAD_V1_V1_gfx10", 9);
    Enable = Names.at("EXP", 7);
    Cpol = Names.at("FLAT_LOAD_DWORD", 3);
  }

  void run() {
    std::set<std::string> Seen;
    for (unsigned Opcode = 0; Opcode < M.Instructions->getNumOpcodes(); ++Opcode) {
      const MCInstrDesc &D = M.Instructions->get(Opcode);
      if (D.isPseudo() || AMDGPU::isVOPD(Opcode) || M.mnemonic(Opcode).empty())
        continue;
      bool HasDim = false, HasDpp = false;
      for (unsigned I = 0; I < D.getNumOperands(); ++I) {
        HasDim |= M.operandName(Opcode, I) == Dim;
        HasDpp |= M.operandName(Opcode, I) == DppControl;
      }
      for (bool Agprs : {false, true})
        for (unsigned Round = 0, Rounds = HasDim ? 8 : HasDpp ? 2 : 1; Round < Rounds; ++Round) {
          std::string Text = synthesize(Opcode, Round, Agprs);
          if (!Text.empty() && Seen.insert(Text).second)
            outs() << Text << '\n';
        }
    }
  }

  std::string synthesize(unsigned Opcode, unsigned Round, bool Agprs) {
    const MCInstrDesc &D = M.Instructions->get(Opcode);
    MCInst Instruction;
    Instruction.setOpcode(Opcode);
    std::vector<unsigned> Used;
    for (unsigned I = 0; I < D.getNumOperands(); ++I) {
      const MCOperandInfo &Operand = D.operands()[I];
      int Tied = D.getOperandConstraint(I, MCOI::TIED_TO);
      int16_t Class = M.Instructions->getOpRegClassID(Operand, Mode);
      if (Tied >= 0) {
        MCOperand Copy = Instruction.getOperand(Tied);
        Instruction.addOperand(Copy);
      } else if (Class >= 0) {
        unsigned Register = pick(Class, Agprs, Used);
        if (!Register)
          return {};
        Used.push_back(Register);
        Instruction.addOperand(MCOperand::createReg(Register));
      } else {
        Instruction.addOperand(MCOperand::createImm(immediate(Opcode, M.operandName(Opcode, I), Operand.OperandType, Round)));
      }
    }
    return M.print(Instruction);
  }
};

// ---------------------------------------------------------------------------------------------------- assemble

class InstructionRecorder : public MCStreamer {
  SourceMgr &Sources;

public:
  InstructionRecorder(MCContext &Context, SourceMgr &Sources) : MCStreamer(Context), Sources(Sources) {}
  bool emitSymbolAttribute(MCSymbol *, MCSymbolAttr) override { return true; }
  void emitCommonSymbol(MCSymbol *, uint64_t, Align) override {}
  void emitInstruction(const MCInst &Instruction, const MCSubtargetInfo &) override {
    raw_ostream &Out = outs();
    unsigned Line = Instruction.getLoc().isValid() ? Sources.FindLineNumber(Instruction.getLoc()) : 0;
    Out << "{\"line\":" << Line << ",\"opcode\":" << Instruction.getOpcode() << ",\"operands\":[";
    for (unsigned I = 0; I < Instruction.getNumOperands(); ++I) {
      const MCOperand &Operand = Instruction.getOperand(I);
      if (I)
        Out << ',';
      if (Operand.isReg())
        Out << "\"r" << Operand.getReg().id() << '"';
      else if (Operand.isImm())
        Out << Operand.getImm();
      else
        Out << "null";
    }
    Out << "]}\n";
  }
};

void assemble(Machine &M) {
  SourceMgr Sources;
  Sources.AddNewSourceBuffer(cantFail(errorOrToExpected(MemoryBuffer::getSTDIN())), SMLoc());
  Sources.setDiagHandler(
      [](const SMDiagnostic &D, void *) {
        if (D.getKind() == SourceMgr::DK_Error)
          outs() << "{\"line\":" << D.getLineNo() << ",\"error\":" << json::Value(D.getMessage()) << "}\n";
      },
      nullptr);
  MCContext Context(M.TargetTriple, M.AsmInfo.get(), M.Registers.get(), M.Subtarget.get(), &Sources, &M.Options);
  std::unique_ptr<MCObjectFileInfo> ObjectInfo(M.TheTarget->createMCObjectFileInfo(Context, false));
  Context.setObjectFileInfo(ObjectInfo.get());
  InstructionRecorder Recorder(Context, Sources);
  Recorder.setUseAssemblerInfoForParsing(false);
  M.TheTarget->createNullTargetStreamer(Recorder);
  std::unique_ptr<MCAsmParser> Parser(createMCAsmParser(Sources, Context, Recorder, *M.AsmInfo));
  std::unique_ptr<MCTargetAsmParser> TargetParser(
      M.TheTarget->createMCAsmParser(*M.Subtarget, *Parser, *M.Instructions, M.Options));
  Parser->setTargetParser(*TargetParser);
  Recorder.initSections(false, *M.Subtarget);
  Parser->Run(true, true);
  outs().flush();
}

} // namespace

int main(int Count, char **Arguments) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  StringRef Command = Count > 1 ? Arguments[1] : "";
  Machine M(Count > 2 ? Arguments[2] : "gfx942");
  if (Command == "describe")
    describe(M);
  else if (Command == "synthesize" && Count > 2)
    Synthesizer(M).run();
  else if (Command == "assemble" && Count > 2)
    assemble(M);
  else {
    errs() << "usage: llvm_tables describe | synthesize CPU[,FEATURES] | assemble CPU[,FEATURES]\n";
    return 2;
  }
  return 0;
}
